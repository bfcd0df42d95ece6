module github.com/loadline-dev/loadline/bench

go 1.26.0

require (
	github.com/Jeffail/tunny v0.1.4
	github.com/afex/hystrix-go v0.0.0-20180502004556-fa1af6a1f4f5
	github.com/alitto/pond/v2 v2.7.1
	github.com/eapache/go-resiliency v1.7.0
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/loadline-dev/loadline v0.0.0
	github.com/panjf2000/ants/v2 v2.12.1
	github.com/platinummonkey/go-concurrency-limits v0.8.0
	github.com/sony/gobreaker/v2 v2.4.0
	github.com/sourcegraph/conc v0.3.0
	golang.org/x/sync v0.25.0
)

require (
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/smartystreets/goconvey v1.8.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.uber.org/multierr v1.9.0 // indirect
)

replace github.com/loadline-dev/loadline => ../
