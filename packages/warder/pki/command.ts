import { type KmsCommandParts, kmsCommand } from '@warder/command-line/kms'
import { acmeVerbs } from './acme.ts'
import {
  createAuthorityVerb,
  importAuthorityVerb,
  listAuthoritiesVerb,
  requestAuthorityVerb,
} from './authority.ts'
import { expiringVerb } from './expiring.ts'
import { issueVerb, renewVerb } from './issue.ts'
import { listCertificatesVerb } from './list.ts'
import { autoRenewVerb } from './renewal.ts'
import { releaseVerb, revokeVerb } from './revoke.ts'
import { showCertificateVerb } from './show.ts'

export const pkiParts: KmsCommandParts = {
  name: 'pki',
  summary: 'Run certificate authorities: issue, renew and revoke certificates',
  about:
    'Certificate authorities with keys in the key management service. Authorities and certificates are named by their ids.',
  verbs: [
    createAuthorityVerb,
    requestAuthorityVerb,
    importAuthorityVerb,
    listAuthoritiesVerb,
    issueVerb,
    renewVerb,
    autoRenewVerb,
    listCertificatesVerb,
    showCertificateVerb,
    revokeVerb,
    releaseVerb,
    expiringVerb,
    ...acmeVerbs,
  ],
  example: `  ROOT=$(warder pki create "CN=Acme Root, O=Acme" --json | jq -r .id)
  CA=$(warder pki create "CN=Acme Issuing, O=Acme" --issuer $ROOT --path-length 0 --json | jq -r .id)
  warder pki issue $CA --csr www.csr --out www.pem
  warder pki revoke CERTIFICATE --reason keyCompromise`,
}

export const pki = kmsCommand(pkiParts)
