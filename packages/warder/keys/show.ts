import type { Reply } from '@warder/client'
import { onlyName } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import { readKid } from '../kms/key-word.ts'
import { aboutKey } from '../kms/refusal.ts'
import { kmsVerb } from '../kms/verb.ts'

function linesOf(key: Reply<'crypto.keys.get'>): readonly string[] {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['key', key.kid],
    ['kind', key.object_type],
    [
      'type',
      [key.kty, key.crv, key.bits === undefined ? undefined : `${key.bits} bits`].filter(Boolean).join(', '),
    ],
    ['bound to', key.alg],
    ['for', key.key_ops.join(', ')],
    ['state', key.state],
    ['owner', key.owner],
    ['other half', key.linked_kid],
    ['is', key.abe === undefined ? undefined : `attribute-based ${key.abe.kind} key`],
    ['digest', key.abe?.digest],
    ['reads', key.abe?.policy],
    ['master key', key.abe?.master],
    ['tags', key.tags.length === 0 ? undefined : key.tags.join(', ')],
    ['made', key.created_at],
    ['public JWK', key.public_jwk === undefined ? undefined : JSON.stringify(key.public_jwk)],
  ]
  return rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name.padEnd(11)} ${printable(value)}`],
  )
}

export const showKeyVerb = kmsVerb({
  name: 'show',
  words: 'KEY',
  summary: 'what is known about a key, and its public half; never anything secret',
  about: `Takes the right getattributes, which is in the group Read. The public JWK is there for private and public keys: it
verifies signatures, or encrypts, without the service.`,
  examples: ['warder keys show KEY', 'warder keys show KEY --json | jq .public_jwk > public.jwk'],
  options: {},
  parse(_, names) {
    const kid = readKid(onlyName(names, 'key'))
    return async ({ kms, show }) => {
      const key = await aboutKey('key', kid, () => kms.call('crypto.keys.get', { path: { kid } }))
      show(key, linesOf(key))
      return 0
    }
  },
})
