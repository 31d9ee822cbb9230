export * from './grant-store.ts'
export * from './key-access.ts'
export * from './permission.ts'
export * from './right.ts'
