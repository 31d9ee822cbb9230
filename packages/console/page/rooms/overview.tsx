import { auth } from '../api.ts'
import { RoomHeader } from '../frame/room-header.tsx'
import { useInfo, useMe } from '../frame/session.ts'
import { Failure } from '../parts/errors.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { Time } from '../parts/time.tsx'
import type { Me } from '../room.ts'
import { texts } from '../texts.ts'

const words = texts.overview

/** Who the user is, and until when. */
export function Room() {
  const service = useInfo().data?.service
  const me = useMe(service).data
  return (
    <>
      <RoomHeader title={words.title} />
      <h2>{words.you}</h2>
      {me == null ? <Skeleton /> : service === 'auth' ? <AtAuth /> : <AtKms me={me} />}
    </>
  )
}

function AtAuth() {
  const { data, error, refetch } = auth.useOperation('account.get', {})
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  if (data === undefined) return <Skeleton />
  const { administers } = data
  return (
    <dl className="facts">
      <dt>{words.name}</dt>
      <dd>
        <bdi>{data.username}</bdi>
      </dd>
      <dt>{words.realm}</dt>
      <dd>
        <bdi>{data.realm_id}</bdi>
      </dd>
      <dt>{words.since}</dt>
      <dd>
        <Time at={data.created_at * 1000} />
      </dd>
      <dt>{words.until}</dt>
      <dd>
        <Time at={data.ends_at * 1000} />
        <div className="quiet">
          {words.untilHelp} <Time at={data.expires_at * 1000} isShort />
        </div>
      </dd>
      <dt>{words.administers}</dt>
      <dd>
        {administers.length === 0
          ? words.administersNothing
          : administers.includes('_')
            ? words.administersAll
            : administers.join(', ')}
      </dd>
    </dl>
  )
}

function AtKms({ me }: { readonly me: Me }) {
  return (
    <dl className="facts">
      <dt>{words.name}</dt>
      <dd>
        <bdi>{me.name}</bdi>
      </dd>
      <dt>{words.roles}</dt>
      <dd>{me.roles.length === 0 ? words.noRoles : me.roles.join(', ')}</dd>
    </dl>
  )
}
