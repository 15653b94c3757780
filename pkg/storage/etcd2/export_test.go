package etcd2

import (
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/storage/etcd2/mirror"
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
)

// Client returns the store's client.
func (s *Store) Client() Client { return s.mirror.Client }

// SetClient gives the store another client.
func (s *Store) SetClient(client Client) { s.mirror.Client = client }

// SetSleep lets the store wait in another way than by sleeping.
func (s *Store) SetSleep(now func() time.Time, sleep func(time.Duration)) {
	s.clock.now, s.clock.sleep = now, sleep
}

// Sleep waits as the store does.
func (s *Store) Sleep(wait time.Duration) { s.clock.sleep(wait) }

// Claim writes a task's index key, and returns how to release it.
func (s *Store) Claim(machine, taskID string) (release func(), err error) {
	own := &mirror.Change{Key: mirror.IndexKeyOf(taskID)}
	err = s.mirror.Write(own, func() (*etcd.Response, error) { return s.mirror.Client.Create(own.Key, machine, 0) })
	return func() { s.releaseClaim(taskID, own.Version) }, err
}

// Warn logs what is wrong with a key.
func (s *Store) Warn(key string, version uint64, what string) { s.warnings.warn(key, version, what) }

// Warned returns how many warnings are remembered.
func (s *Store) Warned() int { return len(s.warnings.warned) }

// Idle reports whether no host port is kept for a create.
func (s *Store) Idle() bool { return s.claims.Len() == 0 }

// Machine is what the mirror has about a machine.
type Machine struct {
	ListVersion uint64
	Manifests   []string
	Tasks       map[string]uint64 // id → version
}

// Machines returns what the mirror has about the machines that are not empty.
func (s *Store) Machines() map[string]Machine {
	machines := map[string]Machine{}
	for name, m := range s.mirror.Machines() {
		if m.ListVersion == 0 && len(m.Tasks) == 0 {
			continue
		}
		one := Machine{ListVersion: m.ListVersion, Tasks: map[string]uint64{}}
		for _, manifest := range m.Manifests {
			one.Manifests = append(one.Manifests, string(manifest.Raw))
		}
		for _, task := range m.Tasks {
			one.Tasks[task.ID] = task.Version
		}
		machines[name] = one
	}
	return machines
}

// DecodeOne decodes a machine with one task and a list of manifests.
func DecodeOne(task *etcd.Node, list string) (m *mirror.Machine, stored *mirror.Stored) {
	m = mirror.DecodeMachine("m", &etcd.Node{Dir: true, Nodes: etcd.Nodes{
		{Key: "/kubelet", Value: list, ModifiedIndex: 1},
		{Key: "/tasks", Dir: true, Nodes: etcd.Nodes{task}},
	}}, 1, nil, nil)
	return m, m.Tasks[0]
}

// Consistent reports whether a list has one manifest that is made from the task.
func Consistent(task *etcd.Node, list string) bool {
	m, stored := DecodeOne(task, list)
	return m.Broken == nil && stored.Err == nil && m.Consistent(stored)
}
