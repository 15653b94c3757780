package warnings

import "testing"

const negative = `{"spec":{"terminationGracePeriodSeconds":-1}}`

func grace(at string) []string {
	return []string{at + ".spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"}
}

func TestATemplateIsLookedAtWhenItIsNewOrChanges(t *testing.T) {
	t.Parallel()
	odd := func(generation string) string {
		return `{"metadata":{"generation":` + generation + `},"spec":{"template":` + negative + `}}`
	}
	rows := map[string]said{"new": {odd("1"), "", grace("spec.template")}, "changed": {odd("2"), odd("1"), grace("spec.template")}, "as it was": {odd("1"), odd("1"), nil}}
	says(t, ReplicationController, rows)
	says(t, ReplicaSet, rows)
	says(t, Deployment, rows)
	says(t, StatefulSet, rows)
	says(t, Job, rows)
	says(t, ReplicationController, map[string]said{"the old template": {`{"metadata":{"generation":2}}`, odd("1"), grace("spec.template")}})
	says(t, PodTemplate, map[string]said{"new": {`{"template":` + negative + `}`, "", grace("template")}, "as it was": {`{"template":` + negative + `}`, "{}", nil}})
	daemons := func(generation string) string {
		return `{"metadata":{"annotations":{"deprecated.daemonset.template.generation":"` + generation + `"}},"spec":{"template":` + negative + `}}`
	}
	says(t, DaemonSet, map[string]said{"new": {daemons("1"), "", grace("spec.template")}, "changed": {daemons("2"), daemons("1"), grace("spec.template")}, "as it was": {daemons("1"), daemons("1"), nil}})
	says(t, Deployment, map[string]said{"AppArmor": {`{"spec":{"template":{"metadata":{"annotations":{"container.apparmor.security.beta.kubernetes.io/c":"unconfined"}},"spec":{"containers":[{"name":"c"}]}}}}`, "",
		[]string{`spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead`}}})
}

func TestStatefulSetsAndJobsHaveWarningsOfTheirOwn(t *testing.T) {
	t.Parallel()
	const set = `{"spec":{"revisionHistoryLimit":-1,"volumeClaimTemplates":[{"spec":{"resources":{"limits":{"storage":"500m"}}}}]}}`
	const history, half = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended", `resources.limits[storage]: fractional byte value "500m" is invalid, must be an integer`
	says(t, StatefulSet, map[string]said{
		"new": {set, "", []string{"spec.volumeClaimTemplates[0]." + half, history}},
		"old": {set, set, []string{"spec.volumeClaimTemplates[0].Spec." + half, history}},
	})
	const many = `{"completionMode":"Indexed","completions":100001,"parallelism":10001}`
	const tooMany = "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
	says(t, Job, map[string]said{"many": {`{"spec":` + many + `}`, "", []string{"spec: " + tooMany}}, "few": {`{"spec":{"completionMode":"Indexed","completions":100001}}`, "", nil}})
	const zone = `{"spec":{"schedule":"TZ=UTC 0 0 * * *"}}`
	says(t, CronJob, map[string]said{
		"many":     {`{"spec":{"jobTemplate":{"spec":` + many + `}}}`, "", []string{"spec.jobTemplate.spec: " + tooMany}},
		"template": {`{"spec":{"jobTemplate":{"spec":{"template":` + negative + `}}}}`, "", grace("spec.jobTemplate.spec.template")},
		"zone": {zone, zone, []string{"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see " +
			"https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"}},
	})
}
