import type { ComponentType } from 'react'

/** The user of this page. */
export interface Me {
  readonly name: string
  /** Unknown at the key management service. */
  readonly realm?: string
  readonly session?: string
  /** Unix seconds: end of the session if it is not used before. */
  readonly endsAt?: number
  /** Realms that the user administers; `_`: all. */
  readonly administers: readonly string[]
  /** Of the credential, as grants name them. */
  readonly roles: readonly string[]
}

/** What a room gets from its address. */
export interface RoomProps {
  /** Values of `{name}` in the path. */
  readonly path: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

export interface Room {
  /** Below `/ui/`; `{name}` is one segment. */
  readonly path: string
  readonly title: string
  readonly service: 'auth' | 'kms' | 'both'
  readonly load: () => Promise<{ readonly Room: ComponentType<RoomProps> }>
  /** true: also without a login, and not in the navigation. */
  readonly isPublic?: true
  /** true: reached from another room, not from the navigation. */
  readonly isInner?: true
  /** Whether it is of use for this user. The service decides on its own what the user may do. */
  readonly needs?: (me: Me) => boolean
  /** Whether this user should start here at present. Without it: only as the first room of the list. */
  readonly isStart?: (me: Me) => Promise<boolean>
}
