"""A stand-in for the price list and savings plans of AWS: replies of our own making, in the documented shapes."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

YEAR_S = 31_536_000


def product(name, usd, reserved=(), currency="USD", region="eu-west-1"):
    """An entry of `PriceList`; a reserved one is (years, class, payment, dollars an hour, dollars upfront)."""
    sku = f"SKU{name}"
    terms = {"OnDemand": {f"{sku}.OD": {"priceDimensions": {f"{sku}.OD.1": _dimension("Hrs", usd, currency)}}}}
    for at, (years, kind, payment, hourly, upfront) in enumerate(reserved):
        told = {"LeaseContractLength": f"{years}yr", "OfferingClass": kind, "PurchaseOption": payment}
        dimensions = {"a": _dimension("Hrs", hourly, currency)}
        if upfront is not None:
            dimensions["b"] = _dimension("Quantity", upfront, currency)
        offer = {"termAttributes": told, "priceDimensions": dimensions}
        terms.setdefault("Reserved", {})[f"{sku}.{at}"] = offer
    attributes = {"instanceType": name, "regionCode": region, "operatingSystem": "Linux", "tenancy": "Shared"}
    content = {"product": {"productFamily": "Compute Instance", "attributes": attributes, "sku": sku}}
    return json.dumps(
        {**content, "serviceCode": "AmazonEC2", "terms": terms, "publicationDate": "2026-08-22T00:00:00Z"}
    )


def _dimension(unit, price, currency):
    return {"unit": unit, "pricePerUnit": {currency: f"{price:.10f}"}, "appliesTo": [], "rateCode": "x"}


def rate(name, plan, years, payment, usd, usage="BoxUsage"):
    """An entry of `searchResults`."""
    offering = {"offeringId": "o", "paymentOption": payment, "planType": plan, "currency": "USD"}
    told = {"instanceType": name, "region": "eu-west-1", "productDescription": "Linux/UNIX", "tenancy": "shared"}
    return {
        "savingsPlanOffering": {**offering, "durationSeconds": years * YEAR_S, "planDescription": "x"},
        "rate": str(usd), "unit": "Hrs", "productType": "EC2", "serviceCode": "AmazonEC2",
        "usageType": f"EUW1-{usage}:{name}", "operation": "RunInstances",
        "properties": [{"name": key, "value": value} for key, value in told.items()],
    }  # fmt: skip


class Replies:
    """What is served: pages of products and of rates, and errors before them."""

    def __init__(self, products=(()), rates=((),), errors=(), denied=False):
        self.products = [list(page) for page in products]
        self.rates = [list(page) for page in rates]
        self.errors = list(errors)
        self.denied = denied
        self.asked = []

    def reply(self, path, body):
        """Status and content for a request; pages are asked for by a token that is their number."""
        is_prices = "DescribeSavingsPlans" not in path
        self.asked.append((path, body))
        if is_prices and self.errors:
            return 400, {"__type": self.errors.pop(0), "message": "Rate exceeded"}
        if not is_prices and self.denied:
            return 403, {"__type": "AccessDeniedException", "message": "no"}
        pages = self.products if is_prices else self.rates
        token = "NextToken" if is_prices else "nextToken"
        at = int(body.get(token, 0))
        more = {token: str(at + 1)} if at + 1 < len(pages) else {}
        return 200, {"FormatVersion": "aws_v1", "PriceList" if is_prices else "searchResults": pages[at], **more}


@contextmanager
def served(replies):
    """Serve replies; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
            status, content = replies.reply(self.path, body)
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("x-amzn-ErrorType", content.get("__type", ""))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
