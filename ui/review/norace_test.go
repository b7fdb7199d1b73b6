//go:build !race

package review

const slower = 1
