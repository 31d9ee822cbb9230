import { createECDH, type KeyObject, randomBytes } from 'node:crypto'
import { cryptographicFailure, unsupported } from './refusal.ts'

/** A curve y² = x³ + ax + b over p, of order n. */
interface Curve {
  readonly p: bigint
  readonly a: bigint
  readonly n: bigint
  /** Bytes of a coordinate, and of the order. */
  readonly bytes: number
}

const curve = (p: bigint, a: bigint, n: string): Curve => {
  const order = BigInt(`0x${n}`)
  return { p, a, n: order, bytes: Math.ceil(order.toString(2).length / 8) }
}

/** SP 800-186 §3.2.1 and SEC 2, by OpenSSL's names. */
const curves: Readonly<Record<string, Curve>> = {
  prime256v1: curve(
    2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n,
    -3n,
    'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
  ),
  secp384r1: curve(
    2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
    -3n,
    'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973',
  ),
  secp521r1: curve(
    2n ** 521n - 1n,
    -3n,
    '01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409',
  ),
  secp256k1: curve(
    2n ** 256n - 2n ** 32n - 977n,
    0n,
    'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141',
  ),
}

/**
 * ECDSA of a digest that the client made (FIPS 186-5 §6.4.1), which OpenSSL does but Node does not offer: it hashes
 * always. The nonce and its point come from OpenSSL (a key pair made for this one signature); what is left is
 * s = k⁻¹(z + rd) mod n. BigInt takes a time that depends on its numbers, so no number here is one of the secrets: every
 * factor is multiplied by a fresh random one first, (bk)⁻¹(bz + (br)(d + xn)).
 * @returns DER
 */
export function ecdsaSignDigest(key: KeyObject, digested: Uint8Array): Buffer {
  const { name, curve } = curveOf(key)
  const { n, bytes } = curve
  const z = leftmost(digested, n)
  const d = bigintOf(Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url'))
  for (;;) {
    const nonce = createECDH(name)
    const point = nonce.generateKeys()
    const r = mod(bigintOf(point.subarray(1, 1 + (point.length - 1) / 2)), n)
    const blind = randomScalar(n, bytes)
    const k = bigintOf(nonce.getPrivateKey())
    const hidden = d + bigintOf(randomBytes(8)) * n
    const sum = mod(blind * z + mod(blind * r, n) * hidden, n)
    const s = mod(inverse(mod(blind * k, n), n) * sum, n)
    if (r !== 0n && s !== 0n) return derOf(r, s)
  }
}

/** true when the DER signature is right for the digest (FIPS 186-5 §6.4.2). Nothing in here is secret. */
export function ecdsaVerifyDigest(key: KeyObject, digested: Uint8Array, signature: Uint8Array): boolean {
  const { name, curve } = curveOf(key)
  const { n, p } = curve
  const parsed = integersOf(signature)
  if (parsed === undefined) return false
  const [r, s] = parsed
  if (r <= 0n || r >= n || s <= 0n || s >= n) return false
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const own: Point = {
    x: bigintOf(Buffer.from(x, 'base64url')),
    y: bigintOf(Buffer.from(y, 'base64url')),
    z: 1n,
  }
  const base = createECDH(name)
  base.setPrivateKey(Buffer.from('01', 'hex'))
  const encoded = base.getPublicKey()
  const half = (encoded.length - 1) / 2
  const generator: Point = {
    x: bigintOf(encoded.subarray(1, 1 + half)),
    y: bigintOf(encoded.subarray(1 + half)),
    z: 1n,
  }
  const w = inverse(s, n)
  const sum = add(
    multiply(generator, mod(leftmost(digested, n) * w, n), curve),
    multiply(own, mod(r * w, n), curve),
    curve,
  )
  if (sum.z === 0n) return false
  const zInverse = inverse(sum.z, p)
  return mod(mod(sum.x * zInverse * zInverse, p), n) === r
}

function curveOf(key: KeyObject): { readonly name: string; readonly curve: Curve } {
  const name = key.asymmetricKeyDetails?.namedCurve ?? ''
  const known = curves[name]
  if (known === undefined) throw unsupported('DigestedData is not supported for this curve.')
  return { name, curve: known }
}

/** The leftmost bits of a digest, as many as the order has. */
function leftmost(digested: Uint8Array, n: bigint): bigint {
  const excess = digested.length * 8 - n.toString(2).length
  const whole = bigintOf(digested)
  return excess > 0 ? whole >> BigInt(excess) : whole
}

function bigintOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex') || '0'}`)
}

function mod(value: bigint, modulus: bigint): bigint {
  const rest = value % modulus
  return rest < 0n ? rest + modulus : rest
}

/** Uniform in 1 to n - 1, by rejection. */
function randomScalar(n: bigint, bytes: number): bigint {
  for (;;) {
    const made = bigintOf(randomBytes(bytes)) >> BigInt(bytes * 8 - n.toString(2).length)
    if (made > 0n && made < n) return made
  }
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [low, high, left, right] = [mod(value, modulus), modulus, 1n, 0n]
  while (low > 1n) {
    const quotient = high / low
    ;[low, high, left, right] = [high - quotient * low, low, right - quotient * left, left]
  }
  if (low !== 1n) throw cryptographicFailure()
  return mod(left, modulus)
}

/** In Jacobian coordinates: (x/z², y/z³); z = 0 is the point at infinity. */
interface Point {
  readonly x: bigint
  readonly y: bigint
  readonly z: bigint
}
const infinity: Point = { x: 1n, y: 1n, z: 0n }

function double({ x, y, z }: Point, { p, a }: Curve): Point {
  if (z === 0n || y === 0n) return infinity
  const yy = mod(y * y, p)
  const s = mod(4n * x * yy, p)
  const zz = mod(z * z, p)
  const m = mod(3n * x * x + a * zz * zz, p)
  const doubled = mod(m * m - 2n * s, p)
  return { x: doubled, y: mod(m * (s - doubled) - 8n * yy * yy, p), z: mod(2n * y * z, p) }
}

function add(left: Point, right: Point, curve: Curve): Point {
  if (left.z === 0n) return right
  if (right.z === 0n) return left
  const { p } = curve
  const zz1 = mod(left.z * left.z, p)
  const zz2 = mod(right.z * right.z, p)
  const u1 = mod(left.x * zz2, p)
  const u2 = mod(right.x * zz1, p)
  const s1 = mod(left.y * zz2 * right.z, p)
  const s2 = mod(right.y * zz1 * left.z, p)
  const h = mod(u2 - u1, p)
  const r = mod(s2 - s1, p)
  if (h === 0n) return r === 0n ? double(left, curve) : infinity
  const hh = mod(h * h, p)
  const hhh = mod(hh * h, p)
  const v = mod(u1 * hh, p)
  const x = mod(r * r - hhh - 2n * v, p)
  return { x, y: mod(r * (v - x) - s1 * hhh, p), z: mod(h * left.z * right.z, p) }
}

function multiply(point: Point, scalar: bigint, curve: Curve): Point {
  let sum = infinity
  for (const bit of scalar.toString(2)) {
    sum = double(sum, curve)
    if (bit === '1') sum = add(sum, point, curve)
  }
  return sum
}

/** Ecdsa-Sig-Value (RFC 3279 §2.2.3). */
function derOf(r: bigint, s: bigint): Buffer {
  const content = Buffer.concat([derInteger(r), derInteger(s)])
  const length = content.length < 0x80 ? [content.length] : [0x81, content.length]
  return Buffer.concat([Buffer.from([0x30, ...length]), content])
}

function derInteger(value: bigint): Buffer {
  const text = value.toString(16)
  const bytes = Buffer.from(text.length % 2 === 0 ? text : `0${text}`, 'hex')
  const signed = (bytes[0] as number) >= 0x80 ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes
  return Buffer.concat([Buffer.from([0x02, signed.length]), signed])
}

/** The two integers of a signature; undefined for anything but the one right encoding of them. */
function integersOf(signature: Uint8Array): readonly [bigint, bigint] | undefined {
  if (signature.length < 8 || signature.length > 150) return undefined
  let at = signature[1] === 0x81 ? 3 : 2
  const read = (): bigint => {
    const length = signature[at + 1] ?? 0
    const value = bigintOf(signature.subarray(at + 2, at + 2 + length))
    at += 2 + length
    return value
  }
  const r = read()
  const s = read()
  return derOf(r, s).equals(signature) ? [r, s] : undefined
}
