import {
  hashKey,
  type InfiniteData,
  MutationCache,
  QueryCache,
  QueryClient,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
} from '@tanstack/react-query'
import {
  type AuthOperations,
  authClient,
  ClientError,
  type InputOf,
  kmsClient,
  type Operations,
  type ReplyOf,
  type ServiceClient,
} from '@warder/client/browser'
import { useEffect, useMemo } from 'react'

const { origin } = window.location

type Listener = () => void
let sessionEnded: Listener = () => undefined
/** Called when a service answers 401 in the middle of a session. */
export function onSessionEnd(listener: Listener): void {
  sessionEnded = listener
}

/** Queries and acts with this mark may be answered 401 without an end of the session. */
export const beforeLogin = { isBeforeLogin: true } as const

export const isUnauthorized = (error: unknown): boolean =>
  error instanceof ClientError && error.status === 401

function noticeEnd(error: unknown, meta: Readonly<Record<string, unknown>> | undefined): void {
  if (isUnauthorized(error) && meta?.isBeforeLogin !== true) sessionEnded()
}

/** Data of the services. The client itself repeats busy calls, so that queries are not retried here. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error, query) => noticeEnd(error, query.meta) }),
  mutationCache: new MutationCache({
    onError: (error, _input, _context, mutation) => noticeEnd(error, mutation.meta),
  }),
  defaultOptions: { queries: { retry: false, staleTime: 10_000 } },
})

/** Loaded pages are read again one by one, so that a long list is read again as far as this. */
const maxRefetchedPages = 10

/** Forgets pages of lists beyond those. @param queryKey of one list; default: all */
function forgetLaterPages(queryKey: readonly unknown[] = []): void {
  queryClient.setQueriesData<InfiniteData<unknown>>(
    { queryKey, predicate: ({ queryKey: [, , kind] }) => kind === 'pages' },
    (data) =>
      data === undefined || data.pages.length <= maxRefetchedPages
        ? undefined
        : {
            pages: data.pages.slice(0, maxRefetchedPages),
            pageParams: data.pageParams.slice(0, maxRefetchedPages),
          },
  )
}

type Table<O> = { readonly [Name in keyof O]: { readonly reply: unknown } }

interface QueryOptions {
  /** false: not asked yet. */
  readonly enabled?: boolean
  readonly refetchInterval?: number
}

/** Hooks over the declared operations of one service. */
function createOperations<O extends Table<O>>(client: ServiceClient<O>) {
  type Name = keyof O & string
  // The types of a call depend on the name of its operation, which is a variable here.
  const call = client.call as (name: string, input: unknown) => Promise<unknown>
  const page = client.page as unknown as (
    name: string,
    input: unknown,
  ) => Promise<{ readonly rows: unknown; readonly next: string | undefined }>
  return {
    client,
    /** Reads by an operation: `kms.useOperation('crypto.keys.get', { path: { kid } })`. */
    useOperation<N extends Name>(
      name: N,
      input: InputOf<O, N>,
      options: QueryOptions = {},
    ): UseQueryResult<ReplyOf<O, N>> {
      return useQuery({
        queryKey: [name, input],
        queryFn: async () => (await call(name, input)) as ReplyOf<O, N>,
        ...options,
      })
    },
    /** Reads an operation with pages: `select` finds the rows in a reply, `next` is the address of the next page. */
    usePages<N extends Name, Row>(
      name: N,
      input: InputOf<O, N>,
      select: (reply: ReplyOf<O, N>) => readonly Row[],
    ) {
      const queryKey = [name, input, 'pages']
      const isShort = (query: { readonly state: { readonly data?: InfiniteData<unknown> | undefined } }) =>
        (query.state.data?.pages.length ?? 0) <= maxRefetchedPages
      const pages = useInfiniteQuery({
        queryKey,
        initialPageParam: undefined as string | undefined,
        queryFn: async ({ pageParam: after }) => {
          const { query, ...rest } = input as { readonly query?: Readonly<Record<string, string>> }
          const { rows, next } = await page(name, { ...rest, query: { ...query, after } })
          const inside = (rows as { readonly next?: string | null }).next
          return { rows: select(rows as ReplyOf<O, N>), next: next ?? inside ?? undefined }
        },
        getNextPageParam: ({ next }) => next,
        refetchOnWindowFocus: isShort,
        refetchOnReconnect: isShort,
        // It compares all rows with those before, for each page.
        structuralSharing: false,
      })
      const hash = hashKey(queryKey)
      // biome-ignore lint/correctness/useExhaustiveDependencies: the hash is that of the key
      useEffect(() => () => forgetLaterPages(queryKey), [hash])
      const rows = useMemo(() => pages.data?.pages.flatMap((page) => page.rows), [pages.data])
      // Rooms load further pages by themselves: after an error the user decides.
      const hasNextPage = pages.hasNextPage && pages.error === null
      return { ...pages, hasNextPage, rows }
    },
    /** Changes by an operation; what the page shows is read again afterwards. */
    useAct<N extends Name>(name: N) {
      return useMutation({
        mutationKey: [name],
        // Passwords and secrets that are shown once are not kept after the room is left.
        gcTime: 0,
        mutationFn: async (input: InputOf<O, N>) => (await call(name, input)) as ReplyOf<O, N>,
        onSuccess: () => {
          forgetLaterPages()
          return queryClient.invalidateQueries()
        },
      })
    },
  }
}

export const authService = authClient({ url: origin })
/** Operations of the authentication service. Only its own pages can call them. */
export const auth = createOperations<AuthOperations>(authService)
/** Operations of the key management service. Only its own pages can call them. */
export const kms = createOperations<Operations>(kmsClient({ url: origin }))
