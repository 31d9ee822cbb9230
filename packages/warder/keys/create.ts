import type { Reply } from '@warder/client'
import { printable } from '../admin/table.ts'
import { Words } from '../admin/verb.ts'
import type { KmsContext, KmsVerb } from '../kms/index.ts'
import { generateRequest, importRequest, type KeyRequest } from './key-request.ts'

async function make({ kms, show }: KmsContext, body: KeyRequest): Promise<number> {
  const made = await kms.call('crypto.keys.create', { body })
  show(made, linesOf(made))
  return 0
}

function linesOf({ kid, kid_public, kty, alg }: Reply<'crypto.keys.create'>): readonly string[] {
  const what = printable(alg === undefined ? kty : `${kty}, ${alg}`)
  if (typeof kid_public !== 'string') return [`${printable(kid)}  ${what}`]
  return [`${printable(kid)}  ${what}, private`, `${printable(kid_public)}  ${what}, public`]
}

export const createKeyVerb: KmsVerb = {
  name: 'create',
  words: '--alg ALG | --kty TYPE  [--bits N] [--crv C] [--tag T]...',
  summary: `makes a key; ALG is one of A128GCM A192GCM A256GCM, HS256 HS384 HS512, ES256 ES384 ES512, EdDSA, MLDSA44,
RS256 … PS512, RSA-OAEP, RSA-OAEP-256; TYPE is RSA (any use), EC, OKP, AKP or oct`,
  parse(args) {
    const words = new Words(args)
    const body = generateRequest({
      kty: words.option('kty'),
      alg: words.option('alg'),
      crv: words.option('crv'),
      bits: words.number('bits'),
      tags: words.every('tag'),
    })
    words.end()
    return (context) => make(context, body)
  },
}

export const importKeyVerb: KmsVerb = {
  name: 'import',
  words: 'FILE [--alg ALG] [--tag T]...',
  summary:
    'takes the private or secret key of a JWK file in; - is standard input. The file stays: remove it yourself',
  parse(args) {
    const words = new Words(args)
    const options = { alg: words.option('alg'), tags: words.every('tag') }
    const file = words.name('file')
    const body = importRequest(file, options)
    return (context) => make(context, body)
  },
}
