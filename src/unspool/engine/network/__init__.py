"""Work that shares processors and links: at what rates it goes on, and when each part is done.

It knows hosts, links, routes and activities, in connected components whose rates it finds anew when one changes. It
does not know whose work it is. It calls the kernel.
"""
