import { ClientError, type KmsClient, type Reply } from '@warder/client'
import { printable, requireOneName } from '@warder/command-line'
import { kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import { formatMessageCount, formatRotation, formatState, type Rotation } from './life-format.ts'

type Shown = Reply<'crypto.keys.get'>

function formatKey(key: Shown, more: Details): readonly string[] {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['key', key.kid],
    ['kind', key.object_type],
    [
      'type',
      [key.kty, key.crv, key.bits === undefined ? undefined : `${key.bits} bits`].filter(Boolean).join(', '),
    ],
    ['bound to', key.alg],
    ['for', key.key_ops.join(', ')],
    ['in the HSM', key.hsm],
    ['hardware', formatHardware(key.hardware)],
    ['wrapped by', key.wrapping_key],
    ['state', formatState(key)],
    ['version', key.rotated_at === undefined ? undefined : `${key.version}, made ${key.rotated_at}`],
    ['rotated', more.rotation && formatRotation(more.rotation)],
    ['encrypted', more.rotation && formatMessageCount(more.rotation)],
    ...dates.map(([name, member]) => [name, key[member]] as const),
    ['owner', key.owner],
    ['other half', key.linked_kid],
    ['is', key.abe === undefined ? undefined : `attribute-based ${key.abe.kind} key`],
    ['digest', key.abe?.digest],
    ['reads', key.abe?.policy],
    ['master key', key.abe?.master],
    ['tags', key.tags.length === 0 ? undefined : key.tags.join(', ')],
    ['made', key.created_at],
    ...more.versions.map(
      ({ version, state, created_at: made, kid }) =>
        [`version ${version}`, `${state}, made ${made}, ${kid}`] as const,
    ),
    ...more.grants.map(
      ({ user_id: user, operations }) => ['may', `${user}: ${operations.join(' ')}`] as const,
    ),
    ...more.uses.map(({ user, last_used: day }) => ['last used', `${day} by ${user}`] as const),
    ['public JWK', key.public_jwk === undefined ? undefined : JSON.stringify(key.public_jwk)],
  ]
  return rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name.padEnd(13)} ${printable(value)}`],
  )
}

function formatHardware(hardware: boolean | undefined): string | undefined {
  if (hardware === undefined) return undefined
  return hardware ? 'yes: generated in the HSM, always sensitive, never extractable' : 'not proven by the HSM'
}

const dates = [
  ['active from', 'activation_at'],
  ['processes from', 'process_start_at'],
  ['protects until', 'protect_stop_at'],
  ['ends', 'deactivation_at'],
  ['compromised', 'compromised_at'],
  ['destroyed', 'destroyed_at'],
  ['disabled', 'disabled_at'],
  ['destroyed on', 'destruction_at'],
  ['ordered by', 'destruction_by'],
] as const satisfies readonly (readonly [string, keyof Shown])[]

/** Maximum number of versions, grants and uses. */
const maxShown = 10

interface Details {
  /** Given for keys that can be rotated. */
  readonly rotation: Rotation | undefined
  readonly versions: Reply<'crypto.keys.versions'>['versions']
  readonly grants: Reply<'access.list'>
  readonly uses: Reply<'crypto.keys.uses'>['uses']
}

/** Fetches the details of a key; empty if the caller has no right to them. */
async function fetchDetails(
  kms: KmsClient,
  { kid, version, version_of: key, object_type: type }: Shown,
): Promise<Details> {
  const unlessForbidden = async <R>(asked: Promise<R>, otherwise: R): Promise<R> =>
    asked.catch((error: unknown) => {
      if (error instanceof ClientError && error.kind === 'forbidden') return otherwise
      throw error
    })
  const versions =
    version === 1
      ? []
      : (await kms.call('crypto.keys.versions', { path: { kid }, query: { limit: String(maxShown) } }))
          .versions
  const grants = await unlessForbidden<Details['grants']>(
    kms.call('access.list', { path: { object_id: kid } }),
    [],
  )
  const { uses } = await unlessForbidden(kms.call('crypto.keys.uses', { path: { kid } }), { kid, uses: [] })
  const rotates = key === undefined && (type === 'SymmetricKey' || type === 'PrivateKey')
  const rotation = rotates ? await kms.call('crypto.keys.rotation.get', { path: { kid } }) : undefined
  return { rotation, versions, grants: grants.slice(0, maxShown), uses: uses.slice(0, maxShown) }
}

export const showKeyVerb = kmsVerb({
  name: 'show',
  words: 'KEY',
  summary: 'Show the attributes and the public half of a key; never a secret',
  about: `Requires the right getattributes, which is in the group Read. Grants and uses are shown only to the owner, to officers
and to users with the right authorize. For private and public keys it shows the public JWK, which verifies signatures or
encrypts without the service.`,
  examples: ['warder keys show KEY', 'warder keys show KEY --json | jq .public_jwk > public.jwk'],
  options: {},
  parse(_, names) {
    const kid = readKid(requireOneName(names, 'key'))
    return async ({ kms, show }) => {
      const key = await withKeyErrors('key', kid, () => kms.call('crypto.keys.get', { path: { kid } }))
      const more = await fetchDetails(kms, key)
      show({ ...key, ...more }, formatKey(key, more))
      return 0
    }
  },
})
