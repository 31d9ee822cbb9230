/** Open connections by address, bounded by the connections themselves. */
export interface ConnectionCounts {
  /** false: this address has as many as it may. */
  open(address: string): boolean
  close(address: string): void
}

export function connectionCounts(perAddress: number): ConnectionCounts {
  const counts = new Map<string, number>()
  return {
    open(address) {
      const count = counts.get(address) ?? 0
      if (count >= perAddress) return false
      counts.set(address, count + 1)
      return true
    },
    close(address) {
      const count = (counts.get(address) ?? 1) - 1
      if (count === 0) counts.delete(address)
      else counts.set(address, count)
    },
  }
}
