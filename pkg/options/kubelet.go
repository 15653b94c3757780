package options

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	"kube2014/pkg/client/kubeletclient"
	"kube2014/pkg/server/flags"
)

// KubeletOptions configure the connections to kubelets.
type KubeletOptions struct{ kubeletclient.Config }

func (o *KubeletOptions) AddFlags(fs *flag.FlagSet) {
	flags.Add(fs, &o.Port, "kubelet_port", flags.AsPort, kubeletclient.DefaultPort)
	flags.Add(fs, &o.HTTPS, "kubelet_https", flags.AsBool, false)
	fs.StringVar(&o.CAFile, "kubelet_certificate_authority", "", "")
	fs.StringVar(&o.CertFile, "kubelet_client_certificate", "", "")
	fs.StringVar(&o.KeyFile, "kubelet_client_key", "", "")
	flags.Add(fs, &o.Timeout, "kubelet_timeout", flags.AsDuration, time.Second)
}

// kubeletFlags has the flags of the files in a kubeletclient.Config.
var kubeletFlags = map[string]string{"CAFile": "kubelet_certificate_authority", "CertFile": "kubelet_client_certificate", "KeyFile": "kubelet_client_key"}

func (o *KubeletOptions) Validate(given map[string]bool) (errs flags.Problems) {
	errs.AddIf(o.Timeout <= 0, "-kubelet_timeout: %s is not more than 0", o.Timeout)
	if !o.HTTPS {
		return append(errs, flags.AllNeed(given, "kubelet_https", kubeletFlags["CAFile"], kubeletFlags["CertFile"], kubeletFlags["KeyFile"])...)
	}
	_, err := o.New()
	errs.AddIf(err != nil, "%w", kubeletError(err))
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
