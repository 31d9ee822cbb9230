import { formatTable, printable, requireNoNames, requireOneName, UsageError } from '@warder/command-line'
import { readPemFile } from '@warder/command-line/files'
import { kmsVerb, withKeyErrors } from '@warder/command-line/kms'
import { buildImportRequest, createPassphraseReader, readKeyFile } from '../keys/import-file.ts'
import type { KeyRequest } from '../keys/key-request.ts'
import { requireOwnHalfInside } from '../keys/pem.ts'
import { outOption, readId, savePem } from './arguments.ts'

const limitOptions = {
  'path-length': { type: 'number', value: 'N', help: 'maximum number of authorities below it in a chain' },
  permit: {
    type: 'list',
    value: 'NAME',
    help: 'permitted names: example.com, .example.com, 192.0.2.0/24; repeatable',
  },
  exclude: { type: 'list', value: 'NAME', help: 'excluded names; repeatable' },
  profile: {
    type: 'list',
    value: 'P',
    help: 'permitted profiles: server, client, code_signing, spiffe, authority; repeatable (default: all)',
  },
  'max-days': { type: 'number', value: 'N', help: 'maximum validity of its certificates' },
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
  if (wrong !== undefined)
    throw new UsageError(`--profile must be one of ${profiles.join(', ')}, not '${wrong}'`)
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
    help: 'algorithm of its new key: ES256, RS384, ML-DSA-65 … (see warder keys create), or SLH-DSA-SHA2-128s … (default ES256)',
  },
  bits: { type: 'number', value: 'N', help: 'size of an RSA key' },
  key: { type: 'text', value: 'KEY', help: 'an existing private key instead of a new one' },
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
      throw new UsageError('--key names an existing key: omit --alg and --bits')
    return { kid }
  }
  return { alg: alg ?? 'ES256', ...(bits !== undefined && { bits }) }
}

export const createAuthorityVerb = kmsVerb({
  name: 'create',
  words: 'SUBJECT',
  summary: 'Create a root authority, or with --issuer an intermediate one; prints its id',
  about: `SUBJECT has the form "CN=Root, O=Acme". The key is created in the service and stays there; it signs only certificates
and revocation lists. --permit and --exclude become name constraints of the certificate, which the service also enforces.`,
  examples: [
    'warder pki create "CN=Acme Root, O=Acme" --days 7300',
    'warder pki create "CN=Acme Issuing, O=Acme" --issuer ROOT --path-length 0 --permit acme.example',
  ],
  options: {
    issuer: { type: 'text', value: 'ID', help: 'issuing authority (default: none, for a root)' },
    days: {
      type: 'number',
      value: 'N',
      help: 'validity in days (default 3650; with --issuer 1825, or until the end of the issuer)',
    },
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

/** Warns if relying parties cannot reach the revocation list and the OCSP responder of issued certificates. */
function warnOfAddress(crlUrl: string | undefined, note: (line: string) => void): void {
  if (crlUrl === undefined)
    note(
      'warning: its certificates will contain no addresses of a revocation list and an OCSP responder, because the service does not know its own address: set pki_public_url (or kms_public_url) in kms.toml before it issues any',
    )
  else if (/^(?:localhost|127\.[\d.]+|\[::1\])$/.test(new URL(crlUrl).hostname))
    note(
      `warning: its certificates will contain ${printable(crlUrl)}, which other machines cannot reach: set pki_public_url in kms.toml before it issues any`,
    )
}

export const requestAuthorityVerb = kmsVerb({
  name: 'request',
  words: 'SUBJECT',
  summary: 'Create a key and a certificate request for an outside authority; prints the request in PEM',
  about: `For an authority below an outside root. Import the issued certificate with warder pki import CERTIFICATE --key KEY, with
the key id that is printed to standard error.`,
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
  summary: 'Import an authority: its certificate chain (PEM) and its key',
  about: `FILE contains the certificate, followed by its chain up to the root. --key names an existing key, such as that of warder
pki request; --key-file is a private key in PEM, which is imported and cannot be exported. A refused import leaves
nothing behind, not even the key.`,
  examples: ['warder pki import issuing.pem --key KEY', 'warder pki import ca.pem --key-file ca.key'],
  options: {
    key: { type: 'text', value: 'KEY', help: 'id of its private key' },
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
      throw new UsageError('give the key: --key KEY or --key-file F')
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
          'warning: its certificate does not permit revocation lists (keyUsage without cRLSign): none is published, and relying parties learn of revocations only by OCSP',
        )
      warnOfAddress(made.signs_crl ? made.crl_url : made.ocsp_url, note)
      return 0
    }
  },
})

export const listAuthoritiesVerb = kmsVerb({
  name: 'authorities',
  words: '',
  summary: 'List the authorities that you own or have a right on',
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
      const rows = authorities.map((each) => [each.id, each.subject, each.not_after, each.issuer_name])
      const headings = ['AUTHORITY', 'SUBJECT', 'UNTIL', 'ISSUER']
      show({ authorities }, formatTable(headings, rows, 'you have no authorities'))
      return 0
    }
  },
})

/** Reads a key file. @returns the import request, and an expensive check for later @throws StartupError */
function readMaterial(file: string, passphraseFile: string | undefined) {
  const text = readKeyFile(file)
  const passphrase = createPassphraseReader(file, passphraseFile)
  return {
    request: buildImportRequest(file, text, { alg: undefined, tags: [], notExtractable: true, passphrase }),
    check: () => requireOwnHalfInside(file, text, passphrase),
  }
}
