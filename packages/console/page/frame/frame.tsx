import { useMutation } from '@tanstack/react-query'
import { type ComponentType, lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { onSessionEnd } from '../api.ts'
import { ErrorBoundary, Failure } from '../parts/errors.tsx'
import { Link } from '../parts/link.tsx'
import { matchRoom, navigate, useAddress } from '../parts/router.ts'
import { Skeleton } from '../parts/skeleton.tsx'
import { Time } from '../parts/time.tsx'
import { Toasts } from '../parts/toasts.tsx'
import type { Me, Room, RoomProps } from '../room.ts'
import { texts } from '../texts.ts'
import { RoomHeader } from './room-header.tsx'
import { endSession, logOut, showLogin, useInfo, useMe } from './session.ts'
import { applyTheme, readTheme, type Theme } from './theme.ts'

type Service = 'auth' | 'kms'

/** Components by room, so that each is loaded once. */
const loaded = new Map<Room, ComponentType<RoomProps>>()
function getComponent(room: Room): ComponentType<RoomProps> {
  const found = loaded.get(room) ?? lazy(async () => ({ default: (await room.load()).Room }))
  loaded.set(room, found)
  return found
}

const isServedBy = (room: Room, service: Service): boolean =>
  room.service === service || room.service === 'both'
const isFor = (room: Room, me: Me | null): boolean =>
  room.isPublic === true || (me !== null && (room.needs?.(me) ?? true))

/** The whole page. @param props.rooms all rooms, in the order of the navigation */
export function Frame({ rooms }: { readonly rooms: readonly Room[] }) {
  const info = useInfo()
  const service = info.data?.service
  const me = useMe(service)
  useEffect(() => onSessionEnd(endSession), [])
  const problem = info.error ?? me.error
  if (problem !== null)
    return <Plain>{<Failure error={problem} retry={() => void (info.error ? info : me).refetch()} />}</Plain>
  if (service === undefined || me.data === undefined)
    return (
      <Plain>
        <Skeleton />
      </Plain>
    )
  return <Page rooms={rooms} service={service} me={me.data} other={info.data?.other ?? null} />
}

function Plain({ children }: { readonly children: ReactNode }) {
  return <main className="content">{children}</main>
}

interface HeaderProps {
  readonly service: Service
  readonly me: Me | null
  readonly other: { readonly service: Service; readonly url: string } | null
}

function Page({ rooms, service, me, other }: HeaderProps & { readonly rooms: readonly Room[] }) {
  const { pathname, searchParams } = useAddress()
  const here = rooms.filter((room) => isServedBy(room, service))
  const listed = here.filter((room) => !room.isPublic && !room.isInner && isFor(room, me))
  const found = here
    .map((room) => ({ room, path: matchRoom(room.path, pathname) }))
    .find(({ path }) => path !== undefined)
  const isStart = pathname === '/ui/' || pathname === '/ui'
  const needsLogin = me === null && found?.room.isPublic !== true
  useStart(isStart, me, listed)
  useEffect(() => {
    if (needsLogin) showLogin()
  }, [needsLogin])
  return (
    <div className="frame">
      <a className="skip" href="#content">
        {texts.frame.skip}
      </a>
      <Header service={service} me={me} other={other} />
      {me !== null && <Navigation rooms={listed} pathname={pathname} />}
      <main className="content" id="content" tabIndex={-1}>
        <ErrorBoundary key={`${me?.realm}/${me?.name} ${pathname}`}>
          {needsLogin || isStart ? (
            <Skeleton />
          ) : found === undefined || !isFor(found.room, me) ? (
            <NotFound />
          ) : (
            <Suspense fallback={<Skeleton />}>
              <RoomContent room={found.room} path={found.path ?? {}} query={searchParams} />
            </Suspense>
          )}
        </ErrorBoundary>
      </main>
      <Toasts />
    </div>
  )
}

/** Goes on from the start to the room in which the user starts. */
function useStart(isStart: boolean, me: Me | null, listed: readonly Room[]): void {
  const fallback = listed[0]?.path
  const candidates = useRef(listed)
  candidates.current = listed
  useEffect(() => {
    if (!isStart || me === null || fallback === undefined) return
    let isLeft = false
    void findStart(candidates.current, me).then((path) => {
      if (!isLeft) navigate(path ?? fallback, { replace: true })
    })
    return () => {
      isLeft = true
    }
  }, [isStart, me, fallback])
}

/** A room that wants to be the start. One that cannot tell is none. */
async function findStart(listed: readonly Room[], me: Me): Promise<string | undefined> {
  for (const { isStart, path } of listed) if (await isStart?.(me).catch(() => false)) return path
  return undefined
}

function RoomContent({ room, ...props }: RoomProps & { readonly room: Room }) {
  const Content = getComponent(room)
  return <Content {...props} />
}

function NotFound() {
  return (
    <>
      <RoomHeader title={texts.frame.notFound}>{texts.frame.notFoundHelp}</RoomHeader>
      <Link to="/ui/">{texts.frame.toStart}</Link>
    </>
  )
}

function Header({ service, me, other }: HeaderProps) {
  return (
    <header className="header">
      <Link to="/ui/" className="brand">
        {texts.product} <span className="service">{texts.services[service]}</span>
      </Link>
      <div className="header-end">
        {other !== null && (
          <a href={`${other.url.replace(/\/+$/, '')}/ui/`}>{texts.frame.toOther(other.service)}</a>
        )}
        {me !== null && <Who me={me} service={service} />}
        <ThemeChoice />
      </div>
    </header>
  )
}

function Who({ me, service }: { readonly me: Me; readonly service: Service }) {
  const logout = useMutation({ mutationFn: () => logOut(service) })
  return (
    <>
      <span className="who">
        <bdi>{me.realm === undefined ? me.name : `${me.realm}/${me.name}`}</bdi>
        {me.endsAt !== undefined && (
          <span className="quiet">
            {' '}
            {texts.frame.until} <Time at={me.endsAt * 1000} isShort />
          </span>
        )}
      </span>
      <button type="button" className="button" disabled={logout.isPending} onClick={() => logout.mutate()}>
        {texts.frame.logOut}
      </button>
      {logout.error !== null && <Failure error={logout.error} />}
    </>
  )
}

function ThemeChoice() {
  const [theme, setTheme] = useState(readTheme)
  return (
    <label className="theme">
      <span className="hidden">{texts.frame.theme}</span>
      <select
        value={theme}
        onChange={({ target }) => {
          const chosen = target.value as Theme
          setTheme(chosen)
          applyTheme(chosen)
        }}
      >
        {Object.entries(texts.frame.themes).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

function Navigation({
  rooms: listed,
  pathname,
}: {
  readonly rooms: readonly Room[]
  readonly pathname: string
}) {
  return (
    <nav className="navigation" aria-label={texts.frame.rooms}>
      <ul>
        {listed.map(({ path, title }) => (
          <li key={path}>
            <Link to={path} isCurrent={pathname === path || pathname.startsWith(`${path}/`)}>
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
