"""A Dask cluster that speaks TLS only, on the loopback, with certificates made here."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.sweeps.tiny import same, thread_place, write_log

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'unspool[cluster]'")
pytest.importorskip("cryptography", reason="certificates are made with cryptography, which is not installed")

from cryptography import x509  # noqa: E402
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402
from cryptography.x509.oid import NameOID  # noqa: E402

from unspool.cli.app import run_command  # noqa: E402
from unspool.errors import InputError  # noqa: E402
from unspool.sweeps import dask_place, read_grid, run_sweep  # noqa: E402
from unspool.sweeps.places import Certificate  # noqa: E402
from unspool.sweeps.store import Store  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

GRID = '[run]\nplatform = 4\nworkload = "{}"\n[grid]\npolicy = ["fcfs", "easy"]\n'


def named(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def signed(folder, name, authority=None):
    """A certificate and its key in PEM, signed by an authority or, where there is none, an authority itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer, signing = authority or (named(name), key)
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .sign(signing, hashes.SHA256())
    )
    cert, private = folder / f"{name}.pem", folder / f"{name}.key"
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return (named(name), key), str(cert), str(private)


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pem")
    (authority, ca, _), (_, other_ca, _) = signed(folder, "ca"), signed(folder, "other-ca")
    _, cert, key = signed(folder, "node", authority)
    return {"ca": ca, "cert": cert, "key": key, "other_ca": other_ca}


@pytest.fixture(scope="module")
def address(pem):
    files = {f"tls_{who}_{what}": pem[what] for who in ("client", "scheduler", "worker") for what in ("cert", "key")}
    security = distributed.Security(require_encryption=True, tls_ca_file=pem["ca"], **files)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tls://", security=security,
        dashboard_address=None, host="127.0.0.1",
    ) as cluster:  # fmt: skip
        yield cluster.scheduler_address


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(GRID.format(write_log(tmp_path)))
    return path


def test_a_sweep_on_a_cluster_with_certificates_is_the_sweep_at_home(address, pem, grid, tmp_path, capsys):
    assert address.startswith("tls://127.0.0.1:")
    words = ["sweep", grid, "-o", tmp_path / "s", "--cluster", address, "--no-report"]
    words += ["--tls-ca", pem["ca"], "--tls-cert", pem["cert"], "--tls-key", pem["key"]]
    assert run_command([str(word) for word in words]) == 0, capsys.readouterr().err
    assert same(Store(tmp_path / "s").frame(), run_sweep(read_grid(grid), tmp_path / "home", thread_place()))


def test_certificates_may_be_those_of_dasks_own_configuration(address, pem, grid, tmp_path):
    import dask

    told = {"ca-file": pem["ca"], "client.cert": pem["cert"], "client.key": pem["key"]}
    with dask.config.set({f"distributed.comm.tls.{name}": path for name, path in told.items()}):
        runs = run_sweep(read_grid(grid), tmp_path / "s", dask_place(address))
    assert runs["error"].is_null().all()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "needs a certificate; give --tls-ca, --tls-cert and --tls-key"),
        ({"ca": "other_ca", "cert": "cert", "key": "key"}, "no scheduler answers there"),
    ],
)
def test_who_has_no_certificate_that_the_cluster_knows_is_told(given, sentence, address, pem, grid, tmp_path):
    certificate = Certificate(**{name: pem[file] for name, file in given.items()}) if given else None
    with pytest.raises(InputError, match=sentence):
        run_sweep(read_grid(grid), tmp_path / "s", dask_place(address, "2s", certificate))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--cluster", "tcp://127.0.0.1:1", "--tls-ca", "x"), "are for an address that begins with tls://"),
        (("--tls-key", "x"), "--tls-ca, --tls-cert and --tls-key are for --cluster tls://HOST:PORT"),
        (("--cluster", "tls://127.0.0.1:1", "--tls-ca", "gone.pem"), "gone.pem: there is no such file; expected a"),
    ],
)
def test_certificates_that_are_of_no_use_are_told(words, sentence, grid, tmp_path, capsys):
    assert run_command(["sweep", str(grid), "-o", str(tmp_path / "s"), *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "s").exists()
