#!/bin/bash
# reference_links.sh MODULE: contract.oracle by the link: the references hold no candidate, and none is loaded with them.
set -u
module=$1
symbols=$(nm -D -C "$module") || exit 2
needed=$(readelf -d "$module" | grep NEEDED) || exit 2
wrong=0
for word in assay_get_library 'host_kernels::' 'assay_cuda::' 'faulty::'; do
  if grep -qF -- "$word" <<< "$symbols"; then
    echo "$module has $word: a reference shares no code with a candidate"
    wrong=1
  fi
done
if grep -E '\[lib(assay|cutlass|flashinfer|sgl|vllm)' <<< "$needed"; then
  echo "$module loads a library of kernels: a reference is neither the candidate nor stock"
  wrong=1
fi
if ! grep -q 'assay_reference_' <<< "$symbols"; then
  echo "$module exports no reference: the test looks in the wrong place"
  wrong=1
fi
exit $wrong
