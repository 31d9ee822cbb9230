import { failure } from '@warder/base'

/** The owner of a piece of work. Both members are keys for fair scheduling; they need not exist. */
export interface QueueOwner {
  /** e.g. an IPv4 address, or the /64 of an IPv6 address */
  readonly client: string
  /** e.g. a realm: separates callers that share an address, for example behind a proxy */
  readonly tenant: string
}

/** Runs at most `concurrency` pieces of work at a time. Clients alternate, and so do the tenants of one client. */
export interface FairQueue {
  /** @throws failure('overloaded') at once when the queue is full, or later when an owner with fewer slots displaces it */
  run<R>(owner: QueueOwner, work: () => Promise<R>): Promise<R>
  /** Work that waits or runs. */
  readonly unfinished: number
}

interface Waiting {
  readonly start: () => void
  readonly refuse: (reason: Error) => void
}

const createQueueFull = (): Error => failure('overloaded', 'the queue is full', { retryAfterSeconds: 2 })

/**
 * A full queue accepts work of a client that uses fewer slots than another client: the newest work of the client with
 * the most slots is displaced; between clients with equally many slots, tenants are compared in the same way. So
 * neither a client nor many clients of one tenant can lock all other callers out. Owners are remembered only while they
 * wait: `maxLength` at most.
 * @param longest number of slots in the queue
 */
export function createFairQueue(concurrency: number, maxLength: number): FairQueue {
  const slots = new QueueSlots()
  let running = 0

  const turn = (owner: QueueOwner): Promise<void> =>
    new Promise((start, refuse) => {
      if (slots.count >= maxLength) {
        const displaced = slots.displace(owner)
        if (displaced === undefined) {
          refuse(createQueueFull())
          return
        }
        displaced.refuse(createQueueFull())
      }
      slots.add(owner, { start, refuse })
    })

  return {
    get unfinished() {
      return running + slots.count
    },
    async run(owner, work) {
      if (running < concurrency) running++
      else await turn(owner)
      try {
        return await work()
      } finally {
        // The slot passes directly to the next work, so that later work cannot take it.
        const next = slots.next()
        if (next === undefined) running--
        else next.start()
      }
    },
  }
}

type Tenants = Map<string, Waiting[]>

/** The slots of the queue. A Map iterates in insertion order, which is the order of turns. */
class QueueSlots {
  readonly #clients = new Map<string, Tenants>()
  count = 0

  add({ client, tenant }: QueueOwner, waiting: Waiting): void {
    const tenants: Tenants = this.#clients.get(client) ?? new Map()
    const list = tenants.get(tenant) ?? []
    list.push(waiting)
    tenants.set(tenant, list)
    this.#clients.set(client, tenants)
    this.count++
  }

  /** The next piece of work. Its client and tenant move to the end of the order. */
  next(): Waiting | undefined {
    for (const [client, tenants] of this.#clients) {
      for (const [tenant, list] of tenants) {
        const waiting = list.shift()
        this.count--
        tenants.delete(tenant)
        this.#clients.delete(client)
        if (list.length > 0) tenants.set(tenant, list)
        if (tenants.size > 0) this.#clients.set(client, tenants)
        return waiting
      }
    }
    return undefined
  }

  /** Removes the work that is displaced by work of this owner; undefined when no other owner has more slots. */
  displace({ client, tenant }: QueueOwner): Waiting | undefined {
    const sizes = [...this.#clients].map(([name, tenants]) => ({ name, size: countSlots(tenants) }))
    const own = sizes.find(({ name }) => name === client)?.size ?? 0
    const largest = findLargest(sizes)
    if (largest !== undefined && largest.size > own + 1)
      return this.#removeNewest(largest.name, this.#findLargestTenant(largest.name))
    // Only clients that would still use as many slots as this client, or this client itself.
    const others = sizes.filter(({ name, size }) => name === client || size > own)
    const lists = others.flatMap(({ name }) =>
      [...(this.#clients.get(name) ?? [])].map(([key, { length }]) => ({
        client: name,
        name: key,
        size: length,
      })),
    )
    const totals = new Map<string, number>()
    for (const { name, size } of lists) totals.set(name, (totals.get(name) ?? 0) + size)
    const busiest = findLargest([...totals].map(([name, size]) => ({ name, size })))
    if (busiest === undefined || busiest.size <= (totals.get(tenant) ?? 0) + 1) return undefined
    const victim = findLargest(lists.filter(({ name }) => name === busiest.name))
    return victim && this.#removeNewest(victim.client, victim.name)
  }

  #findLargestTenant(client: string): string {
    const lists = [...(this.#clients.get(client) ?? [])].map(([name, { length }]) => ({ name, size: length }))
    return findLargest(lists)?.name ?? ''
  }

  #removeNewest(client: string, tenant: string): Waiting | undefined {
    const tenants = this.#clients.get(client)
    const list = tenants?.get(tenant)
    const newest = list?.pop()
    if (newest !== undefined) this.count--
    if (list?.length === 0) tenants?.delete(tenant)
    if (tenants?.size === 0) this.#clients.delete(client)
    return newest
  }
}

function countSlots(tenants: Tenants): number {
  let sum = 0
  for (const list of tenants.values()) sum += list.length
  return sum
}

/** The first of those with the largest size. */
function findLargest<T extends { readonly size: number }>(list: readonly T[]): T | undefined {
  return list.reduce<T | undefined>(
    (largest, one) => (largest === undefined || one.size > largest.size ? one : largest),
    undefined,
  )
}
