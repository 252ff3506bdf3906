// Keeps a number of parallel tasks going on a star of hosts, as `drive` in contention.py does.
//
// Arguments: hosts, tasks at once. From stdin, as 8-byte numbers: how many tasks, then of each the number of its hosts,
// the hosts, the flops of each and the bytes of each message. To stdout: when each task ended; to stderr: CPU seconds.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace s4u = simgrid::s4u;

struct Task {
  std::vector<s4u::Host*> hosts;
  std::vector<double> flops;
  std::vector<double> bytes;
};

template <class T> std::vector<T> read(size_t count) {
  std::vector<T> values(count);
  if (fread(values.data(), sizeof(T), count, stdin) != count)
    exit(1);
  return values;
}

static std::vector<s4u::Host*> star(int count, double speed, double bandwidth, double latency) {
  auto* zone = s4u::create_star_zone("star");
  std::vector<s4u::Host*> hosts;
  for (int at = 0; at < count; at++) {
    auto* host = zone->create_host("host" + std::to_string(at), speed);
    auto* link = zone->create_split_duplex_link("link" + std::to_string(at), bandwidth)->set_latency(latency);
    host->seal();
    link->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{link, s4u::LinkInRoute::Direction::UP}}, true);
    hosts.push_back(host);
  }
  zone->seal();
  return hosts;
}

static std::vector<Task> read_tasks(const std::vector<s4u::Host*>& hosts) {
  std::vector<Task> tasks(read<int64_t>(1)[0]);
  for (auto& task : tasks) {
    const size_t count = read<int64_t>(1)[0];
    for (auto host : read<int64_t>(count))
      task.hosts.push_back(hosts[host]);
    const auto amounts = read<double>(2);
    task.flops.assign(count, amounts[0]);
    if (amounts[1] > 0) {
      task.bytes.assign(count * count, amounts[1]);
      for (size_t at = 0; at < count; at++)
        task.bytes[at * count + at] = 0;
    }
  }
  return tasks;
}

static s4u::ExecPtr start(const Task& task) {
  auto exec = s4u::Exec::init();
  if (task.hosts.size() == 1)
    exec->set_flops_amount(task.flops[0])->set_host(task.hosts[0]);
  else
    exec->set_flops_amounts(task.flops)->set_bytes_amounts(task.bytes)->set_hosts(task.hosts);
  exec->start();
  return exec;
}

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  s4u::Engine::set_config("host/model:ptask_L07");
  const auto hosts = star(atoi(argv[1]), 1e9, 1.25e8, 5e-5);
  const size_t at_once = atoi(argv[2]);
  const auto tasks = read_tasks(hosts);
  std::vector<double> ends(tasks.size(), -1.0);
  s4u::Actor::create("driver", hosts[0], [&]() {
    std::vector<s4u::ExecPtr> going;
    std::vector<size_t> which;
    size_t following = 0;
    while (true) {
      while (going.size() < at_once && following < tasks.size()) {
        going.push_back(start(tasks[following]));
        which.push_back(following++);
      }
      if (going.empty())
        return;
      const auto over = s4u::Exec::wait_any(going);
      ends[which[over]] = s4u::Engine::get_clock();
      going[over] = going.back();
      which[over] = which.back();
      going.pop_back();
      which.pop_back();
    }
  });
  const auto began = clock();
  engine.run();
  fprintf(stderr, "%.6f\n", double(clock() - began) / CLOCKS_PER_SEC);
  fwrite(ends.data(), sizeof(double), ends.size(), stdout);
}
