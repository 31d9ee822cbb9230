import { printable, requireOneName, UsageError } from '@warder/command-line'
import { readPemFile } from '@warder/command-line/files'
import { kmsVerb, withKeyErrors } from '@warder/command-line/kms'
import { outOption, readId, savePem } from './arguments.ts'

const profiles = ['server', 'client', 'code_signing', 'spiffe'] as const
type Profile = (typeof profiles)[number]

function readProfile(word: string | undefined): { readonly profile?: Profile } {
  if (word === undefined) return {}
  const profile = profiles.find((each) => each === word)
  if (profile === undefined)
    throw new UsageError(`--profile must be one of ${profiles.join(', ')}, not '${word}'`)
  return { profile }
}

/** Formats the result; without `--out` it includes the certificate. */
function formatIssued(
  {
    id,
    serial,
    kid,
    certificate,
  }: { id: string; serial: string; kid?: string | undefined; certificate: string },
  out: string | undefined,
): readonly string[] {
  return [
    `${printable(id)}  certificate, serial number ${printable(serial)}`,
    ...(kid === undefined ? [] : [`${printable(kid)}  its private key`]),
    ...(out === undefined ? certificate.trimEnd().split('\n') : [`${printable(out)}  written`]),
  ]
}

export const issueVerb = kmsVerb({
  name: 'issue',
  words: 'AUTHORITY',
  usage: '--csr FILE | --public-key FILE | --key KEY | --alg ALG  [--name N]... [--profile P]',
  summary: 'Issue a certificate for a request, a public key, an existing key, or a new one',
  about: `A server certificate needs at least one name, in the request or with --name. Requires the right certify on the
authority. Without --days it is valid for 90 days. A certificate that violates the standards is refused, with the violated rule.`,
  examples: [
    'warder pki issue AUTHORITY --csr www.csr --out www.pem',
    'warder pki issue AUTHORITY --alg ES256 --subject "CN=build 7" --profile client',
    'warder pki issue AUTHORITY --public-key www.pub --name www.acme.example --name 192.0.2.7 --days 30',
  ],
  options: {
    csr: { type: 'text', value: 'FILE', help: 'certificate request (PKCS#10) in PEM' },
    'public-key': { type: 'text', value: 'FILE', help: 'public key in PEM' },
    key: { type: 'text', value: 'KEY', help: 'existing private key' },
    alg: { type: 'text', value: 'ALG', help: 'algorithm of a new key, which stays in the service' },
    subject: {
      type: 'text',
      value: 'S',
      help: 'subject like "CN=www" (default: that of the request, or none)',
    },
    name: { type: 'list', value: 'N', help: 'DNS name, IP address, mailbox or URI; repeatable' },
    profile: { type: 'text', value: 'P', help: `${profiles.join(', ')} (default server)` },
    days: { type: 'number', value: 'N', help: 'validity in days (default 90)' },
    out: outOption,
  },
  parse({ csr, 'public-key': publicKey, key, alg, subject, name, profile, days, out }, names) {
    const authority = readId(requireOneName(names, 'authority'))
    if ([csr, publicKey, key, alg].filter((each) => each !== undefined).length !== 1)
      throw new UsageError('give exactly one of --csr, --public-key, --key and --alg')
    const body = {
      ...(csr !== undefined && { csr: readPemFile(csr, 'CERTIFICATE REQUEST') }),
      ...(publicKey !== undefined && { public_key: readPemFile(publicKey, 'PUBLIC KEY') }),
      ...(key !== undefined && { kid: readId(key) }),
      ...(alg !== undefined && { alg }),
      ...(subject !== undefined && { subject }),
      ...(name.length > 0 && { names: name }),
      ...readProfile(profile),
      ...(days !== undefined && { days }),
    }
    return async ({ kms, show }) => {
      const made = await withKeyErrors('authority', authority, () =>
        kms.call('pki.certificates.issue', { path: { id: authority }, body }),
      )
      await savePem(out, made.certificate + made.chain)
      show(made, formatIssued(made, out))
      return 0
    }
  },
})

export const renewVerb = kmsVerb({
  name: 'renew',
  words: 'CERTIFICATE',
  summary: 'Issue a certificate with the same key and names, by the same authority',
  about: 'The old certificate stays valid until it expires: revoke it after the replacement.',
  examples: ['warder pki renew CERTIFICATE --out www.pem'],
  options: {
    days: { type: 'number', value: 'N', help: 'validity in days (default: that of the old certificate)' },
    out: outOption,
  },
  parse({ days, out }, names) {
    const id = readId(requireOneName(names, 'certificate'))
    const body = days === undefined ? {} : { days }
    return async ({ kms, show }) => {
      const made = await withKeyErrors('certificate', id, () =>
        kms.call('pki.certificates.renew', { path: { id }, body }),
      )
      await savePem(out, made.certificate + made.chain)
      show(made, formatIssued(made, out))
      return 0
    }
  },
})
