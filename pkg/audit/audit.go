// Package audit writes who did what: a line of JSON for each stage of a request, as much as a policy
// says. The lines are events of audit.k8s.io/v1, as today's server writes them.
package audit

import (
	"encoding/json"
	"io"
	"log"
	"sync"
	"time"

	"golang.org/x/time/rate"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/util"
)

// Counters count what is audited. They are safe for concurrent use.
type Counters interface {
	// Level is told what is written of a request: None, Metadata, Request or RequestResponse.
	Level(level string)
	// Event is told that there is an event to write.
	Event()
	// Error is told that an event is lost.
	Error()
}

type noCounters struct{}

func (noCounters) Level(string) {}
func (noCounters) Event()       {}
func (noCounters) Error()       {}

// complaintPeriod is how often the log says that events are lost.
const complaintPeriod = 10 * time.Second

// Auditor writes events. It is safe for concurrent use.
type Auditor struct {
	// Counters count what is audited. Set them before serving.
	Counters Counters

	policy func() *Policy

	mu        sync.Mutex // guards what follows
	out       io.Writer
	torn      bool // the last line has no end
	lost      int  // events, since the log has said so
	complaint rate.Sometimes
}

// New returns who writes to a writer what a policy says. An event that cannot be written is lost,
// counted and logged: it stops no request.
func New(policy *Policy, out io.Writer) *Auditor {
	return newAuditor(func() *Policy { return policy }, out)
}

// FromFile returns who writes to a writer what the policy in a file says, which is read again when it
// changes. Without a file, it is the metadata of all requests. The error is that of the file.
func FromFile(path string, out io.Writer) (*Auditor, error) {
	if path == "" {
		return New(metadataOfAll, out), nil
	}
	policy, err := util.Reload("the policy of -audit_policy_file", func() (*Policy, error) { return readFile(path) }, path)
	if err != nil {
		return nil, err
	}
	return newAuditor(policy.Get, out), nil
}

func newAuditor(policy func() *Policy, out io.Writer) *Auditor {
	return &Auditor{Counters: noCounters{}, policy: policy, out: out, complaint: rate.Sometimes{First: 1, Interval: complaintPeriod}}
}

// write writes an event, and returns when that is done: what a request does is not done before its
// first line is there.
func (a *Auditor) write(event *auditv1.Event) {
	a.Counters.Event()
	line, err := json.Marshal(event)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		err = a.writeLine(append(line, '\n'))
	}
	if err == nil {
		return
	}
	a.Counters.Error()
	a.lost++
	a.complaint.Do(func() {
		log.Printf("%d audit events are lost: the last one could not be written: %s", a.lost, api.Printable(err.Error(), ' '))
		a.lost = 0
	})
}

// writeLine writes a line. One that was written in part is ended first.
func (a *Auditor) writeLine(line []byte) error {
	if a.torn {
		line = append([]byte("\n"), line...)
	}
	written, err := a.out.Write(line)
	if written > 0 {
		a.torn = written < len(line)
	}
	return err
}
