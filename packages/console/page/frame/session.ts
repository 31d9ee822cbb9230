import { useQuery } from '@tanstack/react-query'
import type { Reply } from '@warder/client/browser'
import { auth, beforeLogin, isUnauthorized, kms, queryClient } from '../api.ts'
import { navigate } from '../parts/router.ts'
import type { Me } from '../room.ts'

type Info = Reply<'ui.info'>

/** The service of this page. Both services declare the same operation. */
export function useInfo() {
  return useQuery({
    queryKey: ['ui.info'],
    queryFn: (): Promise<Info> => kms.client.call('ui.info'),
    staleTime: Number.POSITIVE_INFINITY,
    meta: beforeLogin,
  })
}

async function readMe(service: 'auth' | 'kms'): Promise<Me | null> {
  try {
    if (service === 'kms') {
      const { user: name, roles = [], until } = await kms.client.call('server.me')
      const endsAt = until === undefined ? {} : { endsAt: Date.parse(until) / 1000 }
      return { name, roles, administers: [], ...endsAt }
    }
    const account = await auth.client.call('account.get')
    const { username: name, realm_id: realm, administers } = account
    return { name, realm, administers, session: account.session_id, endsAt: account.ends_at, roles: [] }
  } catch (error) {
    if (isUnauthorized(error)) return null
    throw error
  }
}

/** The user of the session; null without one. Asked again when the tab is shown: another tab may have changed it. */
export function useMe(service: 'auth' | 'kms' | undefined) {
  return useQuery({
    queryKey: ['me'],
    queryFn: async () => {
      const before = queryClient.getQueryData<Me | null>(['me'])
      // A refusal would be an error in the console of the browser, on the page of the login.
      const info = queryClient.getQueryData<Info>(['ui.info'])
      if (before === undefined && info?.has_credential === false) return null
      const now = await readMe(service ?? 'auth')
      const isOther = now?.name !== before?.name || now?.realm !== before?.realm
      if (before != null && isOther) forgetData()
      return now
    },
    enabled: service !== undefined,
    refetchOnWindowFocus: 'always',
    meta: beforeLogin,
  })
}

/** Removes what one user has read, so that another never sees it. */
function forgetData(): void {
  queryClient.removeQueries({ predicate: ({ queryKey: [name] }) => name !== 'me' && name !== 'ui.info' })
}

/** Reads the user after a login. */
export async function beginSession(): Promise<void> {
  forgetData()
  await queryClient.refetchQueries({ queryKey: ['me'] })
}

let reason: 'ended' | undefined

/** Shows the login, which returns to the present room. */
export function showLogin(): void {
  const { pathname, search } = window.location
  const query = new URLSearchParams({ to: pathname + search, ...(reason !== undefined && { reason }) })
  reason = undefined
  navigate(`/ui/login?${query}`, { replace: true })
}

/** The session has ended elsewhere, or in time: the frame shows the login. */
export function endSession(): void {
  forgetData()
  reason = 'ended'
  queryClient.setQueryData(['me'], null)
}

/** Ends the session at the service; the frame then shows the login. */
export async function logOut(service: 'auth' | 'kms'): Promise<void> {
  if (service === 'kms') await kms.client.call('ui.logout')
  else await auth.client.call('sessions.logout')
  forgetData()
  queryClient.setQueryData(['me'], null)
}
