// Package isolation holds benchmarks of the isolation library beside other libraries and beside bare goroutines and channels, in one run, so that
// ratios can be read. Figures and what was learnt are in docs/performance.md.
package isolation
