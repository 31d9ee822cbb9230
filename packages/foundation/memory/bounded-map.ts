/** Sets an entry, which is then the youngest; beyond `capacity` entries the oldest leaves. */
export function setBounded<K, V>(map: Map<K, V>, key: K, value: V, capacity: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= capacity) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
