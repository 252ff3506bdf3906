"""Small platforms of SimGrid for tests: written, read, and asked for their routes by names."""

from unspool.platforms.simgrid_xml import read_simgrid


def written(folder, body, version="4.1", name="small.xml"):
    path = folder / name
    path.write_text(f'<?xml version="1.0"?>\n<platform version="{version}">\n{body}\n</platform>\n')
    return path


def read(folder, body, **options):
    return read_simgrid(written(folder, body), **options)


def in_full_zone(folder, body, **options):
    return read(folder, f'<zone id="z" routing="Full">\n{body}\n</zone>', **options)


def at(network, name):
    return next(number for number, host in enumerate(network.hosts) if host.name == name)


def route(platform, source, target):
    """The names of the links from a host to another, or None."""
    network = platform.network
    links = network.route(at(network, source), at(network, target))
    return None if links is None else [network.links[number].name for number in links]


def latency(platform, source, target):
    network = platform.network
    return sum(network.links[n].latency for n in network.route(at(network, source), at(network, target)))
