// SPDX-License-Identifier: MIT

// A pool outside of Go's heap: a million records that the garbage collector never looks at.
//
//	PKG_CONFIG_PATH=PREFIX/lib/pkgconfig go run .
package main

/*
#cgo pkg-config: eggbox
#include <eggbox/pool.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

// Pool gives out values of T, which must have no Go pointers: the garbage collector does not see
// them.
type Pool[T any] struct{ handle C.egb_pool }

func statusError(status C.egb_status) error {
	if status == C.EGB_OK {
		return nil
	}
	return fmt.Errorf("eggbox: %s", C.GoString(C.egb_status_text(status)))
}

// NewPool makes a pool of at most limit values; 0 is no limit.
func NewPool[T any](name string, limit int) (*Pool[T], error) {
	var value T
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	options := C.egb_pool_options{
		name:        cName,
		block_bytes: C.size_t(unsafe.Sizeof(value)),
		block_align: C.size_t(unsafe.Alignof(value)),
		max_blocks:  C.size_t(limit),
	}
	pool := &Pool[T]{}
	return pool, statusError(C.egb_pool_create(&pool.handle, &options))
}

// Alloc returns a zero value, or nil if the limit or the system refuses.
func (pool *Pool[T]) Alloc() *T {
	value := (*T)(C.egb_pool_alloc(pool.handle))
	if value != nil {
		var zero T
		*value = zero
	}
	return value
}

// Free gives a value back. A second free is refused, and reported on stderr.
func (pool *Pool[T]) Free(value *T) {
	C.egb_pool_free(pool.handle, unsafe.Pointer(value))
}

// Close destroys the pool. It fails if values are in use.
func (pool *Pool[T]) Close() error {
	return statusError(C.egb_pool_destroy(pool.handle, C.EGB_DESTROY_REFUSE))
}

type record struct {
	id    uint64
	place [3]float32
}

func run() error {
	pool, err := NewPool[record]("records", 1_000_000)
	if err != nil {
		return err
	}
	records := make([]*record, 0, 1_000_000)
	for one := pool.Alloc(); one != nil; one = pool.Alloc() {
		one.id = uint64(len(records))
		records = append(records, one)
	}
	fmt.Println(len(records), "records, the last is", records[len(records)-1].id)
	if err := pool.Close(); err == nil {
		return fmt.Errorf("a pool in use was closed")
	}
	for _, one := range records {
		pool.Free(one)
	}
	return pool.Close()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
