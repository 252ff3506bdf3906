"""What a process that reads untrusted files may touch: folders, network, memory and time."""
