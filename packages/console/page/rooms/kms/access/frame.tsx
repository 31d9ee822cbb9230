import type { ReactNode } from 'react'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { useMe } from '../../../frame/session.ts'
import { Views } from '../../../parts/views.tsx'
import { texts } from '../../../texts.ts'

const words = texts.access

/** Views of rights, by the last segment of their address. */
const views = [
  ['report', '/ui/access'],
  ['explain', '/ui/access/explain'],
  ['leaver', '/ui/access/leaver'],
  ['blocked', '/ui/access/blocked'],
  ['tags', '/ui/access/tags'],
  ['mine', '/ui/access/mine'],
] as const

/**
 * Whether the user is an active crypto officer, or the default user, who has their place where there are none. The
 * service decides on its own.
 */
export function useIsGovernor(): boolean {
  const me = useMe('kms').data?.name
  const isOfficer = kms.useOperation('access.privileged', {}).data?.has_privileged_access === true
  const defaultUser = kms.useOperation('server.info', {}).data?.default_username
  return isOfficer || (me !== undefined && me === defaultUser)
}

/** The header of a room about rights, with links to the others. */
export function AccessHeader(props: {
  readonly current: (typeof views)[number][0]
  readonly title: string
  readonly children: ReactNode
}) {
  const { current, title, children } = props
  const isGovernor = useIsGovernor()
  const offered = views.filter(([name]) => name !== 'blocked' || isGovernor || name === current)
  return (
    <>
      <RoomHeader title={title}>{children}</RoomHeader>
      <Views
        label={words.viewsLabel}
        current={current}
        views={offered.map(([name, to]) => ({ name, title: words.views[name], to }))}
      />
    </>
  )
}

/** Rights on a key, as grants name them. */
export const keyRights = [
  ...['encrypt', 'decrypt', 'sign', 'signatureverify', 'mac', 'derivekey', 'certify'],
  ...['get', 'export', 'getattributes', 'locate', 'validate'],
  ...['rekey', 'activate', 'addattribute', 'modifyattribute', 'setattribute', 'deleteattribute'],
  ...['revoke', 'destroy', 'authorize'],
] as const
