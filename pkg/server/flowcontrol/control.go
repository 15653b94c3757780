// Package flowcontrol decides which requests are served first, as the flow schemas and the priority levels say. Today's server calls
// this API priority and fairness.
package flowcontrol

import (
	"cmp"
	"context"
	"log"
	"slices"
	"sync"
	"sync/atomic"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/util"
	"kube2014/pkg/util/fairqueuing"
)

// Objects are what configures a Control. They must not be changed.
type Objects struct {
	Schemas []*flowcontrolv1.FlowSchema
	Levels  []*flowcontrolv1.PriorityLevelConfiguration
}

// Config configures a Control.
type Config struct {
	Seats int // how many requests the server serves at a time
	// Read returns the present objects: the same pointer while nothing has changed. It is called for each request.
	Read func() *Objects
	// Mandatory are the schemas and the levels exempt and catch-all, which are there even if Read does not return them.
	Mandatory Objects
	// Counts returns the numbers of objects. It is called once per period.
	Counts func() map[schema.GroupResource]int
}

// Control has the levels of a server. It is safe for concurrent use.
type Control struct {
	config  Config
	set     *fairqueuing.Set
	latest  atomic.Pointer[configured]
	counts  atomic.Pointer[map[schema.GroupResource]int]
	watches watches

	mu      sync.Mutex // held while latest is replaced
	retries map[string]*retryAfter
}

// configured is the result of some objects.
type configured struct {
	from    *Objects
	classes []*Class // in the order in which they match
}

// Class is what a flow schema makes of requests. It must not be changed.
type Class struct {
	Schema *flowcontrolv1.FlowSchema
	Level  *flowcontrolv1.PriorityLevelConfiguration
	// SchemaUID and LevelUID are the values of the headers of answers, made once.
	SchemaUID, LevelUID []string

	flow  *fairqueuing.Flow
	by    flowcontrolv1.FlowDistinguisherMethodType // "" if its requests are one flow
	retry *retryAfter                               // of the level
}

// New returns a Control that knows no numbers of objects before Run.
func New(config Config) *Control {
	c := &Control{config: config, set: fairqueuing.NewSet(config.Seats), watches: watches{open: map[watched]int{}}, retries: map[string]*retryAfter{}}
	c.counts.Store(&map[schema.GroupResource]int{})
	c.configured()
	return c
}

// Run adjusts the levels to their demand until the context ends.
func (c *Control) Run(ctx context.Context) {
	for {
		counts := c.config.Counts()
		c.counts.Store(&counts)
		if !util.Sleep(ctx, fairqueuing.AdjustPeriod) {
			return
		}
		c.set.Adjust()
	}
}

// States returns what the levels are doing, sorted by name, without their requests and queues.
func (c *Control) States() []fairqueuing.LevelState { return c.set.States(false) }

// Details returns that with their requests, whose details are their *request.Record, and queues.
func (c *Control) Details() []fairqueuing.LevelState { return c.set.States(true) }

// Classify returns the class of a request: the first one that matches.
func (c *Control) Classify(a *authorizer.Attributes) *Class {
	classes := c.configured().classes
	for _, class := range classes {
		if matches(class.Schema.Spec.Rules, a) {
			return class
		}
	}
	// A user without the groups of all users is no exception.
	return classes[slices.IndexFunc(classes, func(class *Class) bool { return class.Schema.Name == flowcontrolv1.FlowSchemaNameCatchAll })]
}

// Wait waits until a request may be served, or its time is over. It names the flow of the request. Done must be called on the ticket. The
// error is fairqueuing.Refused.
func (c *Class) Wait(ctx context.Context, a *authorizer.Attributes, r fairqueuing.Request) (*fairqueuing.Ticket, error) {
	switch c.by {
	case flowcontrolv1.FlowDistinguisherMethodByUserType:
		r.Distinguisher = a.User.Name
	case flowcontrolv1.FlowDistinguisherMethodByNamespaceType:
		r.Distinguisher = a.Namespace
	}
	return c.flow.Wait(ctx, r)
}

// RetryAfter counts a refused request, and returns the seconds after which its client should try again.
func (c *Class) RetryAfter() int64 { return c.retry.next() }

// configured returns the result of the present objects.
func (c *Control) configured() *configured {
	objects := c.config.Read()
	if latest := c.latest.Load(); latest != nil && latest.from == objects {
		return latest
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	objects = c.config.Read()
	if latest := c.latest.Load(); latest != nil && latest.from == objects {
		return latest // another goroutine was first
	}
	next := &configured{objects, c.configure(objects)}
	c.latest.Store(next)
	return next
}

func (c *Control) configure(objects *Objects) (classes []*Class) {
	levels := map[string]*flowcontrolv1.PriorityLevelConfiguration{}
	var all []fairqueuing.Settings
	add := func(level *flowcontrolv1.PriorityLevelConfiguration) {
		settings, err := settingsOf(level)
		if err != nil {
			log.Printf("priority level %s is not used: %v", api.Quote(level.Name), err)
			return
		}
		levels[level.Name] = level
		all = append(all, settings)
	}
	for _, level := range objects.Levels {
		add(level)
	}
	schemas := c.schemas(objects, levels)
	for _, level := range c.config.Mandatory.Levels {
		if levels[level.Name] == nil {
			add(level)
		}
	}
	made := c.set.Configure(all)
	for _, schema := range schemas {
		level := levels[schema.Spec.PriorityLevelConfiguration.Name]
		class := &Class{Schema: schema, Level: level, flow: made[level.Name].Flow(schema.Name), retry: c.retries[level.Name],
			SchemaUID: []string{string(schema.UID)}, LevelUID: []string{string(level.UID)}}
		if class.retry == nil {
			class.retry = &retryAfter{}
			c.retries[level.Name] = class.retry
		}
		if method := schema.Spec.DistinguisherMethod; method != nil && level.Spec.Limited != nil && level.Spec.Limited.LimitResponse.Queuing != nil {
			class.by = method.Type
		}
		classes = append(classes, class)
	}
	return classes
}

// schemas returns the flow schemas whose levels are used, in the order in which they match. What is mandatory is first and last if it is not
// there.
func (c *Control) schemas(objects *Objects, levels map[string]*flowcontrolv1.PriorityLevelConfiguration) []*flowcontrolv1.FlowSchema {
	var all []*flowcontrolv1.FlowSchema
	for _, schema := range objects.Schemas {
		if levels[schema.Spec.PriorityLevelConfiguration.Name] != nil {
			all = append(all, schema)
		}
	}
	slices.SortFunc(all, func(a, b *flowcontrolv1.FlowSchema) int {
		return cmp.Or(cmp.Compare(a.Spec.MatchingPrecedence, b.Spec.MatchingPrecedence), cmp.Compare(a.Name, b.Name))
	})
	for _, mandatory := range c.config.Mandatory.Schemas {
		switch isThere := slices.ContainsFunc(all, func(schema *flowcontrolv1.FlowSchema) bool { return schema.Name == mandatory.Name }); {
		case isThere:
		case mandatory.Name == flowcontrolv1.FlowSchemaNameExempt:
			all = slices.Insert(all, 0, mandatory)
		default:
			all = append(all, mandatory)
		}
	}
	return all
}
