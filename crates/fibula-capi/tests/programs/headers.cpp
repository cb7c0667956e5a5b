// The C++ types, and that fibula_rte.h is C++ too.
#include <fibula.hpp>
#include <fibula_rte.h>

#include <cassert>
#include <cstring>

int main()
{
    fibula::Table table;
    const fibula::Prefix net{4, 8, {10}};
    table.insert(net, 5);
    assert(table.at(net) == std::uint64_t{5} && table.size() == 1 && table.memory() > 0);
    assert(table.overlaps(net) && !table.remove({4, 9, {10}}));
    int visited = 0;
    table.each([&](const fibula::Prefix &prefix, std::uint64_t value) {
        visited += prefix.len == 8 && value == 5;
    });
    assert(visited == 1);
    table.save("table.fib");
    assert(fibula::Table::open("table.fib").size() == 1);
    try {
        fibula::Table::open("none");
        return 1;
    } catch (const std::system_error &error) {
        assert(error.code().value() == EIO && std::strstr(error.what(), "none"));
    }

    fibula::Live live(table.copy());
    auto reader = live.reader();
    live.remove(net);
    assert(live.pending() == 1 && live.publish(0));
    assert(fibula_len(reader.table()) == 0);
    for (std::uint64_t value : {6u, 7u}) {
        live.insert(net, value);
        assert(live.publish(0) == (value == 6u)); // the reader holds up the second
    }
    reader.offline();
    assert(live.publish(0) && fibula_len(reader.table()) == 1);
    live.replace(fibula::Table());
    live.discard();

    fibula::Vrfs vrfs;
    auto among = vrfs.reader();
    const auto id = vrfs.create();
    vrfs.insert(id, net, 9);
    assert(vrfs.publish(0) && among.lookup4(id, net.addr) == 9u && !among.lookup4(id + 1, net.addr));
    vrfs.remove(id, net);
    vrfs.destroy(id);
    assert(vrfs.publish(0) && !among.lookup4(id, net.addr));
    return table.lookup4(net.addr).value_or(0) == 5 ? 0 : 1;
}
