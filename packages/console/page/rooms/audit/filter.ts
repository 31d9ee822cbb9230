/** Filters of the search: their names in the API, and those of the options of `warder audit find`. */
export const filters = {
  principal: 'principal',
  object: 'key',
  operation: 'operation',
  outcome: 'outcome',
  address: 'address',
  request_id: 'request',
  text: 'text',
  since: 'since',
  until: 'until',
} as const

type Outcome = 'success' | 'failure'
export type Filter = Readonly<
  Partial<Record<Exclude<keyof typeof filters, 'outcome'>, string> & { outcome: Outcome }>
>

/** The filters in the address of the room. */
export function readFilter(query: URLSearchParams): Filter {
  const names = Object.keys(filters) as (keyof typeof filters)[]
  const outcome = (['success', 'failure'] as const).find((each) => each === query.get('outcome'))
  const given = names.flatMap((name) => {
    const value = query.get(name)?.trim() ?? ''
    return value !== '' && name !== 'outcome' ? [[name, value] as const] : []
  })
  return { ...Object.fromEntries(given), ...(outcome !== undefined && { outcome }) }
}
