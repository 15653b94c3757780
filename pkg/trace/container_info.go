package trace

import (
	"encoding/json"
	"fmt"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
)

// ContainerInfo traces requests to kubelets.
func (t *Tracer) ContainerInfo(next client.ContainerInfo) client.ContainerInfo {
	return containerInfo{t, next}
}

type containerInfo struct {
	t    *Tracer
	next client.ContainerInfo
}

func (c containerInfo) GetContainerInfo(host, name string) (interface{}, error) {
	return ask(c.t, called(c.next, "GetContainerInfo", cut(host, maxValue), api.Quote(name)), infoWords,
		func() (interface{}, error) { return c.next.GetContainerInfo(host, name) })
}

func infoWords(info interface{}) string {
	text, err := json.Marshal(info)
	if err != nil {
		return fmt.Sprintf("a %T", info)
	}
	return value(string(text))
}
