import { kms } from '../../../api.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { texts } from '../../../texts.ts'
import { GuardedAct } from './act.tsx'
import type { KeyProps } from './rights.ts'

const words = texts.key.destroy
const recentMs = 30 * 86_400_000
const maxNames = 20

/** A list of names that stays readable. */
function joinNames(names: readonly string[]): string {
  const rest = names.length - maxNames
  return [...names.slice(0, maxNames), ...(rest > 0 ? [`… +${rest}`] : [])].join(', ')
}

/** Destroys a key, after a dialog that names what ends with it. */
export function Destroy({ of: key, may }: KeyProps) {
  const { kid, approvals = [] } = key
  const destroy = kms.useAct('crypto.keys.destroy')
  const days = key.destruction_days ?? 0
  return (
    <GuardedAct
      verb={words.verb}
      title={words.title(kid)}
      done={days === 0 ? words.done : words.waits}
      request={{ operation: 'destroy', key: kid }}
      run={() => destroy.mutateAsync({ path: { kid } })}
    >
      <p>{days === 0 ? words.now : words.later(days)}</p>
      <p>{words.effect}</p>
      {approvals.includes('destroy') && <p className="notice">{words.approval}</p>}
      <h3>{words.ends}</h3>
      <Effects of={key} may={may} />
    </GuardedAct>
  )
}

/** What depends on the key, as far as the user may know it. Rendered, and thus asked for, only in the open dialog. */
function Effects({ of: { kid, linked_kid: linked, abe }, may }: KeyProps) {
  const isShown = may('authorize')
  const path = { kid }
  const versions = kms.useOperation('crypto.keys.versions', { path }).data
  const grants = kms.useOperation('access.list', { path: { object_id: kid } }, { enabled: isShown })
  const uses = kms.useOperation('crypto.keys.uses', { path }, { enabled: isShown })
  const aliases = kms.useOperation('crypto.aliases.list', { query: { kid } }).data ?? []
  const authorities = kms.useOperation('pki.authorities.list', {}).data ?? []
  const structure = kms.useOperation('crypto.keys.structure', { path }, { enabled: abe?.kind === 'master' })
  if (versions === undefined || (isShown && (grants.isPending || uses.isPending))) return <Skeleton />
  const users = (uses.data?.uses ?? [])
    .filter(({ last_used: day }) => Date.parse(day) >= Date.now() - recentMs)
    .map(({ user }) => user)
  const subjects = authorities
    .filter((each) => each.kid === kid || each.kid === linked)
    .map(({ subject }) => subject)
  const userKeys = structure.data?.user_keys.length ?? 0
  const grantees = grants.data?.map(({ user_id: user }) => user) ?? []
  const lines = [
    words.versions(versions.versions.length, versions.versions.length >= 1000),
    linked !== undefined && words.linked(linked),
    grants.data !== undefined && (grantees.length === 0 ? words.noGrants : words.grants(joinNames(grantees))),
    aliases.length > 0 && words.aliases(joinNames(aliases.map(({ alias }) => alias))),
    uses.data !== undefined && (users.length === 0 ? words.noUsers : words.users(joinNames(users))),
    subjects.length > 0 && words.authorities(joinNames(subjects)),
    userKeys > 0 && words.userKeys(userKeys),
    grants.data === undefined && words.unknown,
  ]
  return <ul>{lines.map((line) => line !== false && <li key={line}>{line}</li>)}</ul>
}
