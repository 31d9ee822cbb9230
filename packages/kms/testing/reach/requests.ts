import type { Sealed, Thing, Token, World } from './world.ts'

// Requests of all interfaces use these: random draws, the principal of a request, and the objects that it names.

/** Draws from the seed of a run. */
export class Draw {
  #state: number
  constructor(seed: number) {
    this.#state = seed >>> 0
  }
  /** At least 0, below `bound`. */
  below(bound: number): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * bound)
  }
  one<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }
  some<T>(list: readonly T[], chance = 0.5): T[] {
    return list.filter(() => this.chance(chance))
  }
  chance(of: number): boolean {
    return this.below(1000) < of * 1000
  }
}

/** A principal who plays, with what it draws. */
export interface Player {
  readonly world: World
  readonly draw: Draw
  readonly by: string
  /** A right that the operation asks for. */
  readonly right?: string | undefined
}

/** What a request sent and got. */
export interface Exchange {
  /** Data that the operation processed: a reply combined with them may be a secret. */
  readonly sent: readonly Uint8Array[]
  /** What a signature in the reply would be over. */
  readonly signed: readonly Uint8Array[]
  readonly sentText: string
  readonly got: readonly Buffer[]
  readonly gotText: string
  readonly succeeded: boolean
}

/** Messages of which principals have MACs computed. */
export const messages = [Buffer.from('pay 100 to bob'), Buffer.alloc(16), Buffer.from('00000001', 'hex')]

export interface Request {
  readonly operation: string
  readonly what: string
  run(): Promise<Exchange>
}

/** The things that a request is about, most often one on which the caller has some right. */
export function drawThing(
  { world, draw, by, right }: Player,
  likely: (thing: Thing) => boolean = () => true,
): Thing {
  const exact = world.things.filter((thing) => world.held(by, thing, right) && likely(thing))
  if (exact.length > 0 && draw.chance(0.7)) return draw.one(exact)
  const held = world.things.filter((thing) => world.held(by, thing) && likely(thing))
  if (held.length > 0 && draw.chance(0.5)) return draw.one(held)
  const fitting = world.things.filter(likely)
  return draw.one(draw.chance(0.9) && fitting.length > 0 ? fitting : world.things)
}

export function drawId(player: Player, likely?: (thing: Thing) => boolean): string {
  const thing = drawThing(player, likely)
  return player.draw.chance(0.8) ? thing.id : player.draw.one([...thing.ids])
}

export const isAes = ({ kind }: Thing) => kind === 'aes'
export const isSecret = ({ kind }: Thing) => kind === 'aes' || kind === 'hmac' || kind === 'data'
export const isPrivate = ({ kind }: Thing) => kind === 'rsa' || kind === 'ec'
export const isCertificate = ({ kind }: Thing) => kind === 'certificate'

export function drawSealed({ world, draw }: Player, id: string): Sealed {
  const fitting = world.sealed.filter(({ thing }) => thing.ids.has(id))
  return draw.one(fitting.length > 0 ? fitting : world.sealed)
}

export function drawToken(player: Player, fits: (token: Token) => boolean): Token {
  const { world, draw, by } = player
  const fitting = world.tokens.filter(fits)
  const held = fitting.filter(({ thing }) => world.held(by, thing, player.right))
  return draw.one(held.length > 0 && draw.chance(0.8) ? held : fitting)
}

/** An identifier that is, or was, that of an object of an owner. */
export function drawTakenId(player: Player): string {
  return player.draw.chance(0.6) ? player.draw.one([...player.world.removed]) : drawId(player)
}
