package registry

import (
	"math"
	"strings"
	"sync"

	"kube2014/pkg/api"
	"kube2014/pkg/conversion"
)

// listDepth is how deep an object stands in the JSON of a list.
const listDepth = 2

// taskEntry is a task, encoded once. It is immutable. There may be very many, so
// it is small and has few pointers for the garbage collector.
type taskEntry struct {
	text       string // id, address and JSON, but for the lines in place
	place      *taskPlace
	idEnd      uint16
	addressEnd uint16
	size       int32 // of its JSON
	listSize   int32 // of its part of a list's JSON, the comma before it included
}

// taskPlace is what the JSON of all tasks of one machine has in common.
type taskPlace struct {
	machine string
	tail    packed // the last lines of their JSON
}

// makeTaskEntry encodes a task. The place may be nil.
func makeTaskEntry(task api.Task, place *taskPlace) (*taskEntry, error) {
	json, err := pack(task)
	if err != nil {
		return nil, err
	}
	own := string(json)
	if place != nil && strings.HasSuffix(own, string(place.tail)) {
		own = own[:len(own)-len(place.tail)]
	} else {
		place = &taskPlace{machine: task.CurrentState.Host}
	}
	entry, err := makeAddressEntry(task, place, own)
	if err != nil {
		return nil, err
	}
	entry.size, entry.listSize = int32(json.size(0)-1), int32(1+json.size(listDepth))
	return entry, nil
}

// makeAddressEntry makes the entry of a task; json is the part of its JSON that
// the entry keeps.
func makeAddressEntry(task api.Task, place *taskPlace, json string) (*taskEntry, error) {
	address, _ := endpointOf(task)
	idEnd, addressEnd := len(task.ID), len(task.ID)+len(address)
	if addressEnd > math.MaxUint16 {
		return nil, &api.Error{Kind: api.Internal, Message: "the id of task " + api.Quote(task.ID) + " is too long"}
	}
	return &taskEntry{text: task.ID + address + json, place: place, idEnd: uint16(idEnd), addressEnd: uint16(addressEnd)}, nil
}

func (e *taskEntry) id() string      { return e.text[:e.idEnd] }
func (e *taskEntry) address() string { return e.text[e.idEnd:e.addressEnd] } // as an endpoint; "" for nowhere
func (e *taskEntry) machine() string { return e.place.machine }

// compare orders tasks by id, then by machine.
func (e *taskEntry) compare(id, machine string) int {
	if order := strings.Compare(e.id(), id); order != 0 {
		return order
	}
	return strings.Compare(e.machine(), machine)
}

// appendTo appends the task's JSON to a text, so many levels deep.
func (e *taskEntry) appendTo(text []byte, depth int) []byte {
	return e.place.tail.appendTo(packed(e.text[e.addressEnd:]).appendTo(text, depth), depth)
}

// appendItem appends the task as the next item of a list's JSON.
func (e *taskEntry) appendItem(list []byte) []byte {
	return e.appendTo(append(list, ','), listDepth)
}

// task decodes the task: a copy, the caller's own.
func (e *taskEntry) task() (api.Task, error) {
	var task api.Task
	err := decodeJSON(e.appendTo(nil, 0), &task)
	return task, err
}

// buffers are reused for answers of one task: without them they are most of a
// GET's garbage.
var buffers = sync.Pool{New: func() interface{} { return new([]byte) }}

// encoded returns the task as it is answered.
func (e *taskEntry) encoded() conversion.Encoded {
	return conversion.Encoded{Size: int(e.size), Pieces: func(send func([]byte) bool) {
		buffer := buffers.Get().(*[]byte)
		*buffer = e.appendTo((*buffer)[:0], 0)
		send((*buffer)[1:]) // without the line break before it
		buffers.Put(buffer)
	}}
}

// taskPlaces makes one place for each machine.
type taskPlaces struct{ byMachine sync.Map }

func (places *taskPlaces) of(machine string) (*taskPlace, error) {
	if known, ok := places.byMachine.Load(machine); ok {
		return known.(*taskPlace), nil
	}
	some, err := pack(api.Task{CurrentState: api.TaskState{Host: machine}})
	if err != nil {
		return nil, err
	}
	tail := some[strings.LastIndex(string(some), `"currentState": {`)-lineHead:]
	place, _ := places.byMachine.LoadOrStore(machine, &taskPlace{machine: machine, tail: tail})
	return place.(*taskPlace), nil
}
