import type { Reply } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { useMe } from '../../../frame/session.ts'

/** A key and the rights of the user on it. */
export interface KeyProps {
  readonly of: Reply<'crypto.keys.get'>
  /** Whether the user has the right, or may have it. */
  readonly may: (right: string) => boolean
}

/** Rights of the user on a key. What the service does not tell is offered, and refused by the service. */
export function useRights({ kid, owner, version_of: whole }: KeyProps['of']): KeyProps['may'] {
  const me = useMe('kms').data?.name
  const isOwner = me === owner
  const isOfficer = kms.useOperation('access.privileged', {}).data?.has_privileged_access === true
  const { data } = kms.useOperation(
    'access.report',
    { query: { user_id: me ?? '', unique_identifier: whole ?? kid } },
    { enabled: me !== undefined && !isOwner },
  )
  if (isOwner || isOfficer || data === undefined) return () => true
  const rights = new Set(data.map(({ right }) => right))
  return (right) => rights.has('*') || rights.has(right)
}
