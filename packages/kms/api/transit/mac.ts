import { failure } from '@warder/foundation/errors'
import { methods, type Operation } from '@warder/foundation/operations'
import { andThen, type MaybePromise } from '@warder/foundation/promises'
import Type from 'typebox'
import { algorithmFor, sameTag } from '../../crypto/index.ts'
import type { Key } from '../../keys/index.ts'
import { define, type KmsServices } from '../../services.ts'
import { counted, requireUse } from '../rest/key-use.ts'
import { batchable, each } from './batch.ts'
import { hashOfHmac } from './hash-name.ts'
import { type Context, commonOfUse, newestToProtect, transitRight, versionAt, writing } from './row.ts'
import { decodeBase64, readVersioned, VersionNumber, versioned } from './text.ts'

/** @throws failure('bad_request') */
function requireHmac({ object }: Key): void {
  if (object.algorithm !== 'HMAC') throw failure('bad_request', 'hmac is for keys of type hmac')
}

/** @throws failure('bad_request') for another hash than the key is for */
function macOf(
  { described, object }: Key,
  data: Buffer,
  hash: string | undefined,
  { services }: Context,
): MaybePromise<Buffer> {
  const alg = object.boundAlg ?? ''
  if (hash !== undefined && hash !== hashOfHmac[alg])
    throw failure('bad_request', `this key computes HMACs with ${hashOfHmac[alg]}`)
  return described.held.mac(algorithmFor('mac', alg, services.policy).plan, data)
}

/** Whether an HMAC is right; any other bytes are false. */
export function verifyMac(
  context: Context,
  key: Key,
  input: Buffer,
  text: string,
  hash: string | undefined,
): MaybePromise<{ readonly valid: boolean }> {
  const { version, text: encoded } = readVersioned(text, 'signature')
  const given = decodeBase64(encoded, 'hmac')
  return andThen(versionAt(context, key, version), ({ key: own }) => {
    requireHmac(own)
    requireUse(own, 'macVerify', context)
    return andThen(macOf(own, input, hash, context), (right) => ({ valid: sameTag(right, given) }))
  })
}

const access = transitRight('mac')
const Text = Type.Optional(Type.String())
const request = batchable(
  { input: Text, reference: Text },
  { algorithm: Text, hash_algorithm: Text, key_version: VersionNumber },
)

const rows = (
  [
    ['', '', Type.Object({ name: Type.String() })],
    ['.hash', '/{hash}', Type.Object({ name: Type.String(), hash: Type.String() })],
  ] as const
).map(([suffix, more, pathParameters]) =>
  define({
    ...commonOfUse,
    name: `transit.hmac${suffix}`,
    route: methods(writing, `/v1/transit/hmac/{name}${more}`),
    summary: 'Compute an HMAC',
    access,
    pathParameters,
    request,
    act({ body, path }, whole) {
      const { key } = access.resolved(whole)
      const named = 'hash' in path ? path.hash : (body.hash_algorithm ?? body.algorithm)
      const act = (item: { readonly input?: string }, context: Context) => {
        if (item.input === undefined) throw failure('bad_request', 'missing input for HMAC')
        const input = decodeBase64(item.input, 'input')
        return andThen(newestToProtect(context, key, body.key_version), (version) => {
          requireHmac(version.key)
          requireUse(version.key, 'macGenerate', context)
          const made = andThen(macOf(version.key, input, named, context), (tag) => ({
            hmac: versioned(version.number, tag.toString('base64')),
          }))
          return counted(context, version.key, input.length, made)
        })
      }
      return each(body, whole, { name: `transit.hmac${suffix}`, key, act })
    },
  }),
)

export const macRows: readonly Operation<KmsServices>[] = rows
