/** What replies about keys say of their life. */
interface Life {
  readonly state: string
  readonly disabled_at?: string
  readonly archived_at?: string
  readonly destruction_at?: string
  readonly deactivation_at?: string
  readonly protect_stop_at?: string
}

/** The state in words, with what withholds the key from use. */
export function shownState({ state, disabled_at, archived_at, destruction_at }: Life): string {
  return [
    state,
    ...(disabled_at === undefined ? [] : ['disabled']),
    ...(archived_at === undefined ? [] : ['archived']),
    ...(destruction_at === undefined ? [] : [`destroyed on ${shownDate(destruction_at)}`]),
  ].join(', ')
}

/** The day of a moment of RFC 3339. */
export function shownDate(moment: string): string {
  return moment.slice(0, 10)
}
