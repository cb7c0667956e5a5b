// libfibula for C++17: the types of fibula.h, freed by themselves. Errors are exceptions.
#ifndef FIBULA_HPP
#define FIBULA_HPP

#include "fibula.h"

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace fibula {

using Prefix = fibula_prefix;

// Throws what a call says.
inline int check(int status)
{
    if (status < 0)
        throw std::system_error(-status, std::generic_category(), fibula_error());
    return status;
}

// Returns false where a call says that something is not there.
inline bool found(int status)
{
    return status != -ENOENT && check(status) == 0;
}

// A table; see fibula.h.
class Table {
public:
    Table() : Table(nullptr) {}
    explicit Table(const fibula_options *options) { check(fibula_table_new(options, out())); }

    static Table open(const std::string &path, const fibula_options *options = nullptr)
    {
        Table table(Nothing{});
        check(fibula_open(path.c_str(), options, table.out()));
        return table;
    }
    Table copy() const
    {
        Table table(Nothing{});
        check(fibula_table_copy(get(), table.out()));
        return table;
    }
    Table aggregate() const
    {
        Table table(Nothing{});
        check(fibula_aggregate(get(), table.out()));
        return table;
    }

    void insert(const Prefix &prefix, std::uint64_t value)
    {
        check(fibula_insert(table.get(), &prefix, value));
    }
    void insert(const Prefix *prefixes, const std::uint64_t *values, std::size_t n)
    {
        check(fibula_insert_many(table.get(), prefixes, values, n));
    }
    bool remove(const Prefix &prefix) { return found(fibula_remove(table.get(), &prefix)); }
    void clear() { check(fibula_clear(table.get())); }
    void save(const std::string &path) const { check(fibula_save(get(), path.c_str())); }

    std::optional<std::uint64_t> at(const Prefix &prefix) const
    {
        std::uint64_t value = 0;
        return found(fibula_get(get(), &prefix, &value)) ? std::optional(value) : std::nullopt;
    }
    std::size_t size() const noexcept { return fibula_len(get()); }
    std::size_t memory() const noexcept { return fibula_memory(get()); }
    bool overlaps(const Prefix &prefix) const { return check(fibula_overlaps(get(), &prefix)) != 0; }

    // Calls visit(prefix, value) for each prefix.
    template <typename Visit> void each(Visit &&visit) const
    {
        check(fibula_each(
            get(),
            [](void *context, const Prefix *prefix, std::uint64_t value) {
                (*static_cast<std::remove_reference_t<Visit> *>(context))(*prefix, value);
                return 0;
            },
            &visit));
    }

    std::optional<std::uint64_t> lookup4(const void *addr, Prefix *prefix = nullptr) const
    {
        std::uint64_t value = 0;
        return found(fibula_lookup4(get(), addr, &value, prefix)) ? std::optional(value) : std::nullopt;
    }
    std::optional<std::uint64_t> lookup6(const void *addr, Prefix *prefix = nullptr) const
    {
        std::uint64_t value = 0;
        return found(fibula_lookup6(get(), addr, &value, prefix)) ? std::optional(value) : std::nullopt;
    }

    const fibula_table *get() const noexcept { return table.get(); }
    fibula_table *release() noexcept { return table.release(); }

private:
    struct Nothing {};
    struct Free {
        void operator()(fibula_table *table) const { fibula_table_free(table); }
    };
    // Takes what a call hands over.
    class Out {
    public:
        explicit Out(std::unique_ptr<fibula_table, Free> &place) : place(place) {}
        Out(const Out &) = delete;
        Out &operator=(const Out &) = delete;
        ~Out() { place.reset(table); }
        operator fibula_table **() { return &table; }

    private:
        std::unique_ptr<fibula_table, Free> &place;
        fibula_table *table = nullptr;
    };

    explicit Table(Nothing) {}
    Out out() { return Out(table); }

    std::unique_ptr<fibula_table, Free> table;
};

// One thread's way to a live table.
class Reader {
public:
    const fibula_table *table() { return fibula_reader_table(reader.get()); }
    void offline() { check(fibula_reader_offline(reader.get())); }

private:
    friend class Live;
    struct Free {
        void operator()(fibula_reader *reader) const { fibula_reader_free(reader); }
    };
    explicit Reader(fibula_reader *reader) : reader(reader) {}
    std::unique_ptr<fibula_reader, Free> reader;
};

// The writer's end of a live table.
class Live {
public:
    explicit Live(Table first)
    {
        fibula_live *made = nullptr;
        check(fibula_live_new(first.release(), &made));
        live.reset(made);
    }
    void insert(const Prefix &prefix, std::uint64_t value)
    {
        check(fibula_live_insert(live.get(), &prefix, value));
    }
    void remove(const Prefix &prefix) { check(fibula_live_remove(live.get(), &prefix)); }
    void replace(Table table) { check(fibula_live_replace(live.get(), table.release())); }
    void discard() { check(fibula_live_discard(live.get())); }
    std::size_t pending() const noexcept { return fibula_live_pending(live.get()); }

    // Returns false where readers have held it up for that long.
    bool publish(std::uint64_t timeout_ns)
    {
        int status = fibula_live_publish(live.get(), timeout_ns);
        return status != -EAGAIN && check(status) == 0;
    }
    Reader reader() const
    {
        fibula_reader *made = nullptr;
        check(fibula_reader_new(live.get(), &made));
        return Reader(made);
    }

private:
    struct Free {
        void operator()(fibula_live *live) const { fibula_live_free(live); }
    };
    std::unique_ptr<fibula_live, Free> live;
};

// One thread's way to many tables.
class VrfsReader {
public:
    std::optional<std::uint32_t> lookup4(std::uint64_t id, const void *addr)
    {
        std::uint32_t value = 0;
        return found(fibula_vrfs_lookup4(reader.get(), id, addr, &value)) ? std::optional(value)
                                                                          : std::nullopt;
    }
    std::optional<std::uint32_t> lookup6(std::uint64_t id, const void *addr)
    {
        std::uint32_t value = 0;
        return found(fibula_vrfs_lookup6(reader.get(), id, addr, &value)) ? std::optional(value)
                                                                          : std::nullopt;
    }
    fibula_vrfs_reader *get() const noexcept { return reader.get(); }

private:
    friend class Vrfs;
    struct Free {
        void operator()(fibula_vrfs_reader *reader) const { fibula_vrfs_reader_free(reader); }
    };
    explicit VrfsReader(fibula_vrfs_reader *reader) : reader(reader) {}
    std::unique_ptr<fibula_vrfs_reader, Free> reader;
};

// The writer's end of many tables.
class Vrfs {
public:
    Vrfs()
    {
        fibula_vrfs *made = nullptr;
        check(fibula_vrfs_new(&made));
        vrfs.reset(made);
    }
    std::uint64_t create()
    {
        std::uint64_t id = 0;
        check(fibula_vrfs_create(vrfs.get(), &id));
        return id;
    }
    void destroy(std::uint64_t id) { check(fibula_vrfs_destroy(vrfs.get(), id)); }
    void insert(std::uint64_t id, const Prefix &prefix, std::uint32_t value)
    {
        check(fibula_vrfs_insert(vrfs.get(), id, &prefix, value));
    }
    void remove(std::uint64_t id, const Prefix &prefix)
    {
        check(fibula_vrfs_remove(vrfs.get(), id, &prefix));
    }

    // Returns false where readers have held it up for that long.
    bool publish(std::uint64_t timeout_ns)
    {
        int status = fibula_vrfs_publish(vrfs.get(), timeout_ns);
        return status != -EAGAIN && check(status) == 0;
    }
    VrfsReader reader() const
    {
        fibula_vrfs_reader *made = nullptr;
        check(fibula_vrfs_reader_new(vrfs.get(), &made));
        return VrfsReader(made);
    }

private:
    struct Free {
        void operator()(fibula_vrfs *vrfs) const { fibula_vrfs_free(vrfs); }
    };
    std::unique_ptr<fibula_vrfs, Free> vrfs;
};

} // namespace fibula

#endif
