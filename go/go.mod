module github.com/fibula-net/fibula/go

go 1.24
