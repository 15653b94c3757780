package etcd2

import (
	"time"

	"github.com/coreos/go-etcd/etcd"
)

// What the tests use of the inside.
const (
	Grace          = grace
	ClaimPatience  = claimPatience
	MaxClaimTime   = maxClaimTime
	MaxRequestTime = maxRequestTime
	SwapTime       = swapTime
	WriterPatience = writerPatience
	MaxWarned      = maxWarned
	WarnPeriod     = warnPeriod
	MaxWaiting     = maxWaiting
	MaxEvents      = maxEvents
)

// Client returns the store's client.
func (s *Store) Client() Client { return s.client }

// SetClient gives the store another client.
func (s *Store) SetClient(client Client) { s.client = client }

// SetSleep lets the store wait in another way than by sleeping.
func (s *Store) SetSleep(now func() time.Time, sleep func(time.Duration)) {
	s.clock.now, s.clock.sleep = now, sleep
}

// Sleep waits as the store does.
func (s *Store) Sleep(wait time.Duration) { s.clock.sleep(wait) }

// Claim writes a task's index key, and returns how to release it.
func (s *Store) Claim(machine, taskID string) (release func(), err error) {
	own := &change{key: indexKeyOf(taskID)}
	err = s.write(own, func() (*etcd.Response, error) { return s.client.Create(own.key, machine, 0) })
	return func() { s.releaseClaim(taskID, own.index) }, err
}

// Warn logs what is wrong with a key.
func (s *Store) Warn(key string, version uint64, what string) { s.warnings.warn(key, version, what) }

// Warned returns how many warnings are remembered.
func (s *Store) Warned() int { return len(s.warnings.warned) }

// Waiting returns how many changes wait for an earlier one.
func (s *Store) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// Idle reports whether nothing is left of any request.
func (s *Store) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) == 0 && len(s.inFlight) == 0 && len(s.ports.owner) == 0
}

// Machine is what the cache has about a machine.
type Machine struct {
	ListVersion uint64
	Manifests   []string
	Tasks       map[string]uint64 // id → version
}

// Machines returns what the cache has about the machines that are not empty.
func (s *Store) Machines() map[string]Machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	machines := map[string]Machine{}
	for name, m := range s.machines {
		if m.listVersion == 0 && len(m.tasks) == 0 {
			continue
		}
		one := Machine{ListVersion: m.listVersion, Tasks: map[string]uint64{}}
		for _, manifest := range m.manifests {
			one.Manifests = append(one.Manifests, string(manifest.raw))
		}
		for _, task := range m.tasks {
			one.Tasks[task.id] = task.version
		}
		machines[name] = one
	}
	return machines
}

// Consistent reports whether a list of manifests has one that is made from the task.
func Consistent(list string, task *etcd.Node, machine string) bool {
	m := decodeMachine(machine, nil, 0, nil)
	manifests, err := decodeManifests(list)
	if err != nil {
		return false
	}
	m.manifests = manifests
	stored := decodeObject(place{kind: "task", id: baseName(task.Key), machine: machine}, task, nil)
	return stored.err == nil && m.consistent(stored)
}

// Decode returns why a task cannot be decoded.
func Decode(node *etcd.Node) error { return decodeObject(place{kind: "task"}, node, nil).err }
