package options

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	"kube2014/pkg/client/kubeletclient"
)

// KubeletOptions configure the connections to kubelets.
type KubeletOptions struct{ kubeletclient.Config }

func (o *KubeletOptions) addFlags(flags *flag.FlagSet) {
	add(flags, &o.Port, "kubelet_port", asPort, kubeletclient.DefaultPort)
	add(flags, &o.HTTPS, "kubelet_https", asBool, false)
	flags.StringVar(&o.CAFile, "kubelet_certificate_authority", "", "")
	flags.StringVar(&o.CertFile, "kubelet_client_certificate", "", "")
	flags.StringVar(&o.KeyFile, "kubelet_client_key", "", "")
	add(flags, &o.Timeout, "kubelet_timeout", asDuration, time.Second)
}

// kubeletFlags has the flags of the files in a kubeletclient.Config.
var kubeletFlags = map[string]string{"CAFile": "kubelet_certificate_authority", "CertFile": "kubelet_client_certificate", "KeyFile": "kubelet_client_key"}

func (o *KubeletOptions) validate(given map[string]bool) (errs problems) {
	errs.addIf(o.Timeout <= 0, "-kubelet_timeout: %s is not more than 0", o.Timeout)
	if !o.HTTPS {
		return append(errs, allNeed(given, "kubelet_https", kubeletFlags["CAFile"], kubeletFlags["CertFile"], kubeletFlags["KeyFile"])...)
	}
	_, err := o.New()
	errs.addIf(err != nil, "%w", kubeletError(err))
	return errs
}

func kubeletError(err error) error {
	if wrong, ok := errors.AsType[*kubeletclient.ConfigError](err); ok {
		return fmt.Errorf("-%s: %w", kubeletFlags[wrong.Field], wrong.Err)
	}
	return err
}

// ApplyTo returns a client of kubelets. The error names a flag.
func (o *KubeletOptions) ApplyTo() (*kubeletclient.HTTPContainerInfo, error) {
	info, err := o.New()
	if err != nil {
		return nil, kubeletError(err)
	}
	if o.HTTPS && o.CAFile == "" {
		log.Print("warning: the certificates of kubelets are not checked: -kubelet_certificate_authority is not given")
	}
	return info, nil
}
