import { StartupError } from '@warder/base'
import { ClientError, type Reply } from '@warder/client'
import { printable, requireNoNames, requireOneName } from '@warder/command-line'
import { formatClientError, type KmsContext, keyAlgorithms, kmsVerb } from '@warder/command-line/kms'
import {
  buildImportRequest,
  createPassphraseReader,
  maxKeyBytes,
  readKeyFile,
  toKeyText,
} from './import-file.ts'
import { buildGenerateRequest, type KeyRequest } from './key-request.ts'
import { requireOwnHalfInside } from './pem.ts'

async function createKey({ kms, show }: KmsContext, body: KeyRequest): Promise<number> {
  const made = await kms.call('crypto.keys.create', { body }).catch((error: unknown) => {
    if (!(error instanceof ClientError) || error.kind !== 'forbidden') throw error
    const hint =
      'Crypto officers decide who may create keys here; one of them can run: warder access grant-create USER.'
    throw new StartupError(formatClientError(error, hint), { cause: error })
  })
  show(made, formatCreatedKey(made))
  return 0
}

function formatCreatedKey({ kid, kid_public, kty, alg }: Reply<'crypto.keys.create'>): readonly string[] {
  const what = printable(alg === undefined ? kty : `${kty}, ${alg}`)
  if (typeof kid_public !== 'string') return [`${printable(kid)}  ${what}`]
  return [`${printable(kid)}  ${what}, private`, `${printable(kid_public)}  ${what}, public`]
}

/** Formats the signature algorithms for the help below. */
function formatSignatureAlgorithms(): string {
  const names = [...keyAlgorithms].filter(([, { use, optional }]) => use === 'signature' && !optional)
  const lines = ['']
  for (const [name] of names) {
    const last = lines.at(-1) ?? ''
    if (last.length + name.length > 60) lines.push(name)
    else lines[lines.length - 1] = `${last} ${name}`.trim()
  }
  return lines
    .map((line, index) => (index === 0 ? `  ${line.padEnd(65)}signs, a pair` : `  ${line}`))
    .join('\n')
}

/** `main`: with a label of its own; `main::backup`: with this label. */
function toHsmMembers(hsm: string | undefined): Pick<KeyRequest, 'hsm' | 'kid'> {
  if (hsm === undefined) return {}
  return hsm.includes('::') ? { kid: `hsm::${hsm}` } : { hsm }
}

export const createKeyVerb = kmsVerb({
  name: 'create',
  words: '',
  usage: '--alg ALG | --kty TYPE  [--crv C] [--bits N] [--tag T]... [--hsm HSM] [--not-extractable]',
  summary: 'Create a key; prints its id, or the two ids of a pair',
  about: `The algorithm determines the only use of the key:
  A128GCM A192GCM A256GCM                                          encrypts files and data
  RSA-OAEP-256 RSA-OAEP                                            the same, as a pair: a user with rights only on the
                                                                   public half can encrypt but not decrypt
  ECDH-ES+A128KW … A256KW                                          the same, on P-256 or --crv
  A192KW A256KW A128GCMKW … A256GCMKW                              wraps content encryption keys
${formatSignatureAlgorithms()}
  HS256 HS384 HS512                                                MACs
--kty RSA (or EC with --crv, OKP, AKP) creates a pair for every algorithm of the type.`,
  examples: [
    'warder keys create --alg A256GCM --tag backup',
    'warder keys create --alg A256GCM --not-extractable',
    'warder keys create --alg ES256',
    'warder keys create --alg A256GCM --hsm main::backup',
    'KEY=$(warder keys create --alg A256GCM --json | jq -r .kid)',
  ],
  options: {
    alg: { type: 'text', value: 'ALG', help: 'algorithm of the key' },
    kty: { type: 'text', value: 'TYPE', help: 'type of the key instead of --alg: RSA, EC, OKP or AKP' },
    crv: { type: 'text', value: 'C', help: 'curve of an EC or OKP key' },
    bits: { type: 'number', value: 'N', help: 'size of an RSA key, 2048 to 8192 (default 2048)' },
    tag: { type: 'list', value: 'T', help: 'tag of the key; repeatable' },
    hsm: {
      type: 'text',
      value: 'HSM',
      help: 'generates the key in this HSM (HSM or HSM::LABEL); the key never leaves it',
    },
    'not-extractable': {
      type: 'flag',
      help: 'the key cannot be exported: KMIP clients do not get it, not even wrapped',
    },
  },
  parse({ tag: tags, 'not-extractable': notExtractable, hsm, ...kind }, names) {
    requireNoNames(names)
    const body = { ...buildGenerateRequest({ ...kind, tags, notExtractable }), ...toHsmMembers(hsm) }
    return (context) => createKey(context, body)
  },
})

export const importKeyVerb = kmsVerb({
  name: 'import',
  words: 'FILE',
  summary: 'Import a private or secret key from a JWK or PEM file',
  about: `Use - as FILE for standard input. The key is validated completely before the import. The file is not removed. Of a pair
only the private key is stored; it also verifies.`,
  examples: [
    'warder keys import signing-key.pem --alg ES256 --tag legacy',
    'openssl genpkey -algorithm ed25519 | warder keys import -',
  ],
  options: {
    alg: {
      type: 'text',
      value: 'ALG',
      help: 'the only permitted algorithm (default: alg of the JWK, else every algorithm of its type)',
    },
    tag: { type: 'list', value: 'T', help: 'tag of the key; repeatable' },
    'not-extractable': {
      type: 'flag',
      help: 'the key cannot be exported; the default for a JWK with "ext": false',
    },
    'passphrase-file': {
      type: 'text',
      value: 'F',
      help: 'file with the passphrase of an encrypted PEM file',
    },
  },
  readsInput: (names) => names.includes('-'),
  parse({ alg, tag: tags, 'not-extractable': notExtractable, 'passphrase-file': passphraseFile }, names) {
    const options = { alg, tags, notExtractable }
    const file = requireOneName(names, 'file')
    const name = file === '-' ? 'standard input' : file
    const passphrase = createPassphraseReader(file, passphraseFile)
    const buildRequest = (content: string): KeyRequest =>
      buildImportRequest(name, content, { ...options, passphrase })
    // Read before the login, so that an invalid file causes no password prompt.
    const content = file === '-' ? undefined : readKeyFile(file)
    const read = content === undefined ? undefined : buildRequest(content)
    return async (context) => {
      const text = content ?? toKeyText(name, await context.readInput(maxKeyBytes))
      const request = read ?? buildRequest(text)
      await requireOwnHalfInside(name, text, passphrase)
      return createKey(context, request)
    }
  },
})
