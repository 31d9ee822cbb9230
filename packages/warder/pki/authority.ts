import { UsageError } from '../cli/command.ts'
import { requireNoNames, requireOneName } from '../cli/options.ts'
import { readPemFile } from '../cli/pem-file.ts'
import { formatTable, printable } from '../cli/table.ts'
import { buildImportRequest, createPassphraseReader, readKeyFile } from '../keys/import-file.ts'
import type { KeyRequest } from '../keys/key-request.ts'
import { requireOwnHalfInside } from '../keys/pem.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { kmsVerb } from '../kms/verb.ts'
import { outOption, readId, savePem } from './arguments.ts'

const limitOptions = {
  'path-length': { type: 'number', value: 'N', help: 'authorities that may follow below it' },
  permit: {
    type: 'list',
    value: 'NAME',
    help: 'what it may certify: example.com, .example.com, 192.0.2.0/24; also several times',
  },
  exclude: { type: 'list', value: 'NAME', help: 'what it must not certify; also several times' },
  profile: {
    type: 'list',
    value: 'P',
    help: 'what it issues: server, client, code_signing, spiffe, authority; also several times (default: all)',
  },
  'max-days': { type: 'number', value: 'N', help: 'longest validity of what it issues' },
} as const

interface Limits {
  readonly 'path-length': number | undefined
  readonly permit: readonly string[]
  readonly exclude: readonly string[]
  readonly profile: readonly string[]
  readonly 'max-days': number | undefined
}

const profiles = ['server', 'client', 'code_signing', 'spiffe', 'authority'] as const
type GrantedProfile = (typeof profiles)[number]

function readLimits({ 'path-length': path_length, permit, exclude, profile, 'max-days': max_days }: Limits) {
  const wrong = profile.find((each) => !profiles.includes(each as GrantedProfile))
  if (wrong !== undefined) throw new UsageError(`--profile is one of ${profiles.join(', ')}, not '${wrong}'`)
  return {
    ...(path_length !== undefined && { path_length }),
    ...(permit.length > 0 && { permitted_names: permit }),
    ...(exclude.length > 0 && { excluded_names: exclude }),
    ...(profile.length > 0 && { profiles: profile as readonly GrantedProfile[] }),
    ...(max_days !== undefined && { max_days }),
  }
}

const keyOptions = {
  alg: {
    type: 'text',
    value: 'ALG',
    help: 'of its new key: ES256, RS384, ML-DSA-65 … as `warder keys create` has them, or SLH-DSA-SHA2-128s … (default ES256)',
  },
  bits: { type: 'number', value: 'N', help: 'size of an RSA key' },
  key: { type: 'text', value: 'KEY', help: 'a private key that is there, in place of a new one' },
} as const

function readKeyOptions({
  alg,
  bits,
  key: kid,
}: {
  alg: string | undefined
  bits: number | undefined
  key: string | undefined
}) {
  if (kid !== undefined) {
    if (alg !== undefined || bits !== undefined)
      throw new UsageError('--key names a key that is there: leave --alg and --bits out')
    return { kid }
  }
  return { alg: alg ?? 'ES256', ...(bits !== undefined && { bits }) }
}

export const createAuthorityVerb = kmsVerb({
  name: 'create',
  words: 'SUBJECT',
  summary: 'makes a root, or with --issuer an authority below another; prints its id',
  about: `SUBJECT is like "CN=Root, O=Acme". The key is made in the service and stays there: it signs certificates and revocation
lists, and nothing else. --permit and --exclude are in the certificate as name constraints, and the service holds itself to them.`,
  examples: [
    'warder pki create "CN=Acme Root, O=Acme" --days 7300',
    'warder pki create "CN=Acme Issuing, O=Acme" --issuer ROOT --path-length 0 --permit acme.example',
  ],
  options: {
    issuer: { type: 'text', value: 'ID', help: 'the authority above it (default: it is a root)' },
    days: { type: 'number', value: 'N', help: 'validity (default 3650; below another 1825, or to its end)' },
    ...keyOptions,
    ...limitOptions,
    out: outOption,
  },
  parse({ issuer, days, out, ...rest }, names) {
    const subject = requireOneName(names, 'subject')
    const above = issuer === undefined ? undefined : readId(issuer)
    const body = {
      subject,
      ...readKeyOptions(rest),
      ...readLimits(rest),
      ...(above !== undefined && { issuer: above }),
      ...(days !== undefined && { days }),
    }
    return async ({ kms, show, note }) => {
      const make = () => kms.call('pki.authorities.create', { body })
      const made = above === undefined ? await make() : await withKeyErrors('issuer', above, make)
      await savePem(out, made.certificate + made.chain)
      show(made, [`${printable(made.id)}  authority, ${printable(subject)}`])
      warnOfAddress(made.crl_url, note)
      return 0
    }
  },
})

/** Warns where relying parties would not find the revocation list and the responder of what it issues. */
function warnOfAddress(crlUrl: string | undefined, note: (line: string) => void): void {
  if (crlUrl === undefined)
    note(
      'warning: certificates that it issues name no revocation list and no OCSP responder, because the service does not know its address: set pki_public_url (or kms_public_url) in kms.toml before it issues any',
    )
  else if (/^(?:localhost|127\.[\d.]+|\[::1\])$/.test(new URL(crlUrl).hostname))
    note(
      `warning: certificates that it issues name ${printable(crlUrl)}, which other machines do not reach: set pki_public_url in kms.toml before it issues any`,
    )
}

export const requestAuthorityVerb = kmsVerb({
  name: 'request',
  words: 'SUBJECT',
  summary: 'makes a key and a request for an outside authority to sign; prints the request in PEM',
  about: `For an authority below a root that is somewhere else. The certificate that comes back is taken in by warder pki import
CERTIFICATE --key KEY, with the id that is printed to standard error.`,
  examples: [
    'warder pki request "CN=Acme Issuing, O=Acme" > issuing.csr',
    'warder pki import issuing.pem --key KEY',
  ],
  options: keyOptions,
  parse(options, names) {
    const subject = requireOneName(names, 'subject')
    const key = readKeyOptions(options)
    return async ({ kms, show, note }) => {
      const made = await kms.call('pki.requests.create', { body: { subject, ...key } })
      note(`key ${printable(made.kid)}`)
      show(made, made.csr.trimEnd().split('\n'))
      return 0
    }
  },
})

export const importAuthorityVerb = kmsVerb({
  name: 'import',
  words: 'FILE',
  summary: 'takes in an authority: its certificate with those above it (PEM), and its key',
  about: `FILE holds the certificate first and then those above it, up to the root. --key names a key that is there, as
warder pki request made it; --key-file is a private key in PEM, which is imported and given to nobody from then on. An
authority that is refused leaves nothing behind, its key neither.`,
  examples: ['warder pki import issuing.pem --key KEY', 'warder pki import ca.pem --key-file ca.key'],
  options: {
    key: { type: 'text', value: 'KEY', help: 'its private key, by its id' },
    'key-file': { type: 'text', value: 'F', help: 'its private key, in PEM' },
    'passphrase-file': {
      type: 'text',
      value: 'F',
      help: 'file with the passphrase of an encrypted key file',
    },
    profile: limitOptions.profile,
    'max-days': limitOptions['max-days'],
  },
  parse(
    { key, 'key-file': keyFile, 'passphrase-file': passphraseFile, profile, 'max-days': maxDays },
    names,
  ) {
    const certificate = readPemFile(requireOneName(names, 'file'), 'CERTIFICATE')
    if ((key === undefined) === (keyFile === undefined))
      throw new UsageError('say which key: --key KEY or --key-file F')
    const limits = readLimits({
      profile,
      'max-days': maxDays,
      permit: [],
      exclude: [],
      'path-length': undefined,
    })
    const material = keyFile === undefined ? undefined : readMaterial(keyFile, passphraseFile)
    return async ({ kms, show, note }) => {
      await material?.check()
      const create = (body: { readonly kid: string } | { readonly key: KeyRequest }) =>
        kms.call('pki.authorities.create', { body: { certificate, ...body, ...limits } })
      const kid = material === undefined ? readId(key ?? '') : undefined
      const made =
        kid === undefined && material !== undefined
          ? await create({ key: material.request })
          : await withKeyErrors('key', kid ?? '', () => create({ kid: kid ?? '' }))
      show(made, [`${printable(made.id)}  authority, imported`])
      if (!made.signs_crl)
        note(
          'warning: its certificate does not permit it to sign revocation lists (keyUsage without cRLSign): none is served, and relying parties learn of revocations by OCSP alone',
        )
      warnOfAddress(made.signs_crl ? made.crl_url : made.ocsp_url, note)
      return 0
    }
  },
})

export const listAuthoritiesVerb = kmsVerb({
  name: 'authorities',
  words: '',
  summary: 'the authorities that you own or have a right on',
  about: 'With --json: {"authorities": […]}.',
  examples: ['warder pki authorities'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ kms, show }) => {
      const authorities = []
      let after: string | undefined
      do {
        const page = await kms.page('pki.authorities.list', { query: after === undefined ? {} : { after } })
        authorities.push(...page.rows)
        after = page.next
      } while (after !== undefined)
      const rows = authorities.map((each) => [each.id, each.subject, each.not_after])
      show(
        { authorities },
        formatTable(['AUTHORITY', 'SUBJECT', 'UNTIL'], rows, 'there are no authorities of yours'),
      )
      return 0
    }
  },
})

/** The request for the key of a file, and the check that needs a moment. @throws StartupError */
function readMaterial(file: string, passphraseFile: string | undefined) {
  const text = readKeyFile(file)
  const passphrase = createPassphraseReader(file, passphraseFile)
  return {
    request: buildImportRequest(file, text, { alg: undefined, tags: [], notExtractable: true, passphrase }),
    check: () => requireOwnHalfInside(file, text, passphrase),
  }
}
