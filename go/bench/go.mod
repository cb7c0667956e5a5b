module github.com/fibula-net/fibula/go/bench

go 1.24.0

require (
	github.com/fibula-net/fibula/go v0.0.0
	github.com/gaissmai/bart v0.30.0
)

replace github.com/fibula-net/fibula/go => ../
