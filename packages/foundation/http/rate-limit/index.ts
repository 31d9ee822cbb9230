export * from './token-buckets.ts'
