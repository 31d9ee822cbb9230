import { ClientError } from '@warder/client/browser'
import type { ReactNode } from 'react'
import { auth } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { useMe } from '../../../frame/session.ts'
import { toCommand } from '../../../parts/command.ts'
import { Link } from '../../../parts/link.tsx'
import { Refusal } from '../../../parts/refusal.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Views } from '../../../parts/views.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { isRealmId, type Realm, superRealm, toRealmPath } from './realm.ts'

const words = texts.realms

type View = 'settings' | 'users' | 'sessions' | 'saml'
const views = ['settings', 'users', 'sessions', 'saml'] as const

/** Whether the user of the page administers all realms. */
export const useIsSuper = (): boolean => useMe('auth').data?.administers.includes(superRealm) === true

/** The refusal for a realm that the user does not administer. */
export function RealmRefusal({ realm, error, retry }: { realm: string; error: unknown; retry?: () => void }) {
  return (
    <Refusal
      error={error}
      {...(retry !== undefined && { retry })}
      needs={words.needsRealm(realm)}
      command={toCommand('warder admin change-admin', ['ADMINISTRATOR'], { 'add-realm': realm })}
    />
  )
}

/** A view of a realm: its header, the links to the other views, and what the view shows of the realm. */
export function RealmFrame(props: {
  readonly path: RoomProps['path']
  readonly view: View
  /** Default: the name of the view and of the realm. */
  readonly title?: string
  readonly children: (realm: Realm) => ReactNode
}) {
  const { path, view, children } = props
  const id = path.realm ?? ''
  const isValid = isRealmId(id)
  const { data, error, refetch } = auth.useOperation(
    'realms.get',
    { path: { realm_id: id } },
    { enabled: isValid },
  )
  const title = props.title ?? words.viewTitle(words.views[view], id)
  const isMissing = !isValid || (error instanceof ClientError && error.status === 404)
  return (
    <>
      <RoomHeader title={title} />
      {isMissing ? (
        <div className="notice danger" role="alert">
          <p>{words.missing(id)}</p>
          <Link to="/ui/realms">{words.toList}</Link>
        </div>
      ) : error !== null ? (
        <RealmRefusal realm={id} error={error} retry={() => void refetch()} />
      ) : (
        <>
          <Views
            label={words.viewsLabel}
            current={view}
            views={views.map((name) => ({
              name,
              title: words.views[name],
              to: toRealmPath(id, name === 'settings' ? '' : name),
            }))}
          />
          {data === undefined ? <Skeleton /> : children(data)}
        </>
      )}
    </>
  )
}
