//go:build !race

package diffreview

const slower = 1
