import { randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import { encodeBase64Url } from '@warder/crypto'
import { type OperationContext, type OperationInput, post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { encrypt, FlattenedJwe } from './encrypt.ts'
import { define, type RestServices } from './services.ts'

const sizes = [128, 192, 256, 384, 512] as const

const DataKeyRequest = Type.Object({
  kid: Type.String({ description: 'The key under which the data key is wrapped.' }),
  alg: Type.String({ description: 'As for encrypt, but not ABE.' }),
  enc: Type.String({ description: 'A128GCM, A192GCM or A256GCM: content encryption of the wrapped form.' }),
  bits: Type.Optional(
    Type.Integer({ description: 'Size of the data key: 128, 192, 256 (default), 384 or 512.' }),
  ),
  plaintext: Type.Optional(
    Type.Boolean({
      description: 'false: returns only the wrapped form. Default true.',
    }),
  ),
  aad: Type.Optional(Type.String({ description: 'Additional authenticated data, base64url.' })),
})

interface Made {
  readonly key: Buffer
  /** The encryption of the data key, as a request. */
  readonly input: OperationInput
}

/** Keys that the check of a request made, for the handler of the same request. */
const made = new WeakMap<OperationContext<RestServices>, Made>()

function make(input: OperationInput): Made {
  const { kid, alg, enc, bits = 256, aad } = input.body as Static<typeof DataKeyRequest>
  if (!sizes.some((size) => size === bits))
    throw failure('bad_request', `bits: must be one of ${sizes.join(', ')}.`)
  const key = randomBytes(bits / 8)
  const data = encodeBase64Url(key)
  const body = { kid, alg, enc, data, ...(aad !== undefined && { aad }) }
  return { key, input: { ...input, body } }
}

/**
 * `POST /v1/crypto/datakey`: a new key for clients that encrypt elsewhere, and its ciphertext under a key of the
 * service, which `POST /v1/crypto/decrypt` decrypts. The service does not store the new key.
 */
export const dataKey = define({
  name: 'crypto.datakey',
  reach: ['make ciphertext'],
  route: post('/v1/crypto/datakey'),
  summary: 'Create a data key: in clear and wrapped, or only wrapped',
  description: 'Requires the right to encrypt. Decrypting the wrapped form returns the data key.',
  tag: 'Crypto',
  access: {
    name: encrypt.access.name,
    check(input, context) {
      const one = make(input)
      made.set(context, one)
      return encrypt.access.check?.(one.input, context)
    },
  },
  request: DataKeyRequest,
  reply: Type.Object({
    kid: Type.String({ description: 'The wrapping key, as named in the request.' }),
    bits: Type.Integer(),
    plaintext: Type.Optional(Type.String({ description: 'The data key, base64url.' })),
    wrapped: FlattenedJwe,
  }),
  errors: {
    403: 'The caller has no right to encrypt with it.',
    404: 'No such key.',
    422: 'Wrong algorithm, key type, size or state.',
  },
  async act({ body }, context) {
    const one = made.get(context)
    if (one === undefined) throw failure('internal_error', 'the access check of a data key did not run')
    const wrapped = (await encrypt.act(one.input, context)) as Static<typeof FlattenedJwe>
    const plaintext = body.plaintext === false ? {} : { plaintext: encodeBase64Url(one.key) }
    const reply = { kid: body.kid, bits: one.key.length * 8, ...plaintext, wrapped }
    one.key.fill(0)
    return reply
  },
})
